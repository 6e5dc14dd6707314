-- For connections under test: a job is never in two places at once, not even inside a transaction
-- between two statements. Always on these would cost a third of the drain; a file keeps none of them.
CREATE TEMP TRIGGER guard_scheduled AFTER INSERT ON main.lanebox_scheduled BEGIN
  SELECT RAISE(ABORT, 'guard: scheduled and running') WHERE EXISTS (SELECT 1 FROM lanebox_running WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: scheduled and ended') WHERE EXISTS (SELECT 1 FROM lanebox_finished WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: scheduled and in line') WHERE EXISTS (SELECT 1 FROM lanebox_open WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: scheduled and ready') WHERE EXISTS (SELECT 1 FROM lanebox_ready WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: scheduled twice') WHERE (SELECT count(*) FROM lanebox_scheduled WHERE id = NEW.id) > 1;
END;
CREATE TEMP TRIGGER guard_open AFTER INSERT ON main.lanebox_open BEGIN
  SELECT RAISE(ABORT, 'guard: in line and running') WHERE EXISTS (SELECT 1 FROM lanebox_running WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: in line and ended') WHERE EXISTS (SELECT 1 FROM lanebox_finished WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: in line and scheduled') WHERE EXISTS (SELECT 1 FROM lanebox_scheduled WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: in line and keeping the lane') WHERE EXISTS (SELECT 1 FROM lanebox_tried WHERE id = NEW.id AND lane IS NOT NULL);
  SELECT RAISE(ABORT, 'guard: in line twice') WHERE (SELECT count(*) FROM lanebox_open WHERE id = NEW.id) > 1;
END;
CREATE TEMP TRIGGER guard_ready AFTER INSERT ON main.lanebox_ready BEGIN
  SELECT RAISE(ABORT, 'guard: ready and running') WHERE EXISTS (SELECT 1 FROM lanebox_running WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: ready and ended') WHERE EXISTS (SELECT 1 FROM lanebox_finished WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: ready and scheduled') WHERE EXISTS (SELECT 1 FROM lanebox_scheduled WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: ready twice') WHERE (SELECT count(*) FROM lanebox_ready WHERE id = NEW.id) > 1;
END;
CREATE TEMP TRIGGER guard_running AFTER INSERT ON main.lanebox_running BEGIN
  SELECT RAISE(ABORT, 'guard: running and ended') WHERE EXISTS (SELECT 1 FROM lanebox_finished WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: running and waiting') WHERE EXISTS (SELECT 1 FROM lanebox_tried WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: running and scheduled') WHERE EXISTS (SELECT 1 FROM lanebox_scheduled WHERE id = NEW.id);
END;
CREATE TEMP TRIGGER guard_tried AFTER INSERT ON main.lanebox_tried BEGIN
  SELECT RAISE(ABORT, 'guard: waiting and running') WHERE EXISTS (SELECT 1 FROM lanebox_running WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: waiting and ended') WHERE EXISTS (SELECT 1 FROM lanebox_finished WHERE id = NEW.id);
END;
CREATE TEMP TRIGGER guard_finished AFTER INSERT ON main.lanebox_finished BEGIN
  SELECT RAISE(ABORT, 'guard: ended and running') WHERE EXISTS (SELECT 1 FROM lanebox_running WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: ended and waiting') WHERE EXISTS (SELECT 1 FROM lanebox_tried WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: ended and scheduled') WHERE EXISTS (SELECT 1 FROM lanebox_scheduled WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: ended and in line') WHERE EXISTS (SELECT 1 FROM lanebox_open WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'guard: ended and ready') WHERE EXISTS (SELECT 1 FROM lanebox_ready WHERE id = NEW.id);
END;
