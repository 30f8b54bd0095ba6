package login

import "context"

// Cost is what a hash takes.
type Cost struct {
	Memory, Passes uint32
	Lanes          uint8
}

// OnHash makes the service call fn before each hash that it computes.
func (s *Service) OnHash(fn func(Cost)) {
	derive := s.hasher.derive
	s.hasher.derive = func(password, salt []byte, passes, memory uint32, lanes uint8, length uint32) []byte {
		fn(Cost{memory, passes, lanes})
		return derive(password, salt, passes, memory, lanes, length)
	}
}

// HashesAtOnce is how many hashes the service computes at once.
func (s *Service) HashesAtOnce() int { return cap(s.hasher.slots) }

// WaitForAHash returns once the service could compute one more, or ctx has ended.
func (s *Service) WaitForAHash(ctx context.Context) error { return s.hasher.enter(ctx) }

// Hash returns the encoded hash of a password.
func Hash(password string) (string, error) { return newHasher(1).hash(context.Background(), password) }

// Verify compares a password with an encoded hash.
func Verify(password, encoded string) (bool, error) { return newHasher(1).verify(password, encoded) }
