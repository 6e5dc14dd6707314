// A new database in the private cluster, as durable as asked.
import pg from "pg";

/** Makes the database and answers a pool of connections to it. */
export async function database(ask) {
  const name = `peer_${process.pid}`;
  const admin = new pg.Client({ database: "postgres" });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  const commit = ask.full ? "on" : "off";
  await admin.query(`ALTER DATABASE ${name} SET synchronous_commit = ${commit}`);
  await admin.end();
  return {
    name,
    // A connection for each client or worker, and some for the peer itself.
    pool: new pg.Pool({ database: name, max: ask.workers + 8 }),
    /** Nothing else may use the database any more. */
    async drop() {
      const admin = new pg.Client({ database: "postgres" });
      await admin.connect();
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end();
    },
  };
}

/** The first number that the query answers. */
export async function number(pool, sql) {
  const { rows } = await pool.query({ text: sql, rowMode: "array" });
  return Number(rows[0][0]);
}
