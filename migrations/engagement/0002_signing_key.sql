-- What the tokens of voters without an account are signed with, where no other key is configured: made here, so that
-- every replica has the same and nobody has to think of one. gen_random_uuid draws from the system's strong source.
CREATE TABLE engagement.signing_key (
	only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
	key      bytea   NOT NULL CHECK (length(key) >= 32)
);
INSERT INTO engagement.signing_key (key)
VALUES (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
