-- Times of a try by the clock of the leases too: a wall clock that steps makes no answer believed early, and no call made
-- with a key that the provider has forgotten.
ALTER TABLE lanebox_send_try ADD COLUMN intended_mono INTEGER;
ALTER TABLE lanebox_send_try ADD COLUMN intended_boot TEXT CHECK ((intended_boot IS NULL) = (intended_mono IS NULL));
ALTER TABLE lanebox_send_try ADD COLUMN unknown_mono INTEGER;
ALTER TABLE lanebox_send_try ADD COLUMN unknown_boot TEXT CHECK ((unknown_boot IS NULL) = (unknown_mono IS NULL));
