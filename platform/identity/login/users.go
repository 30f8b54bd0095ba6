package login

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// User is somebody who can sign in.
type User struct {
	ID    uuid.UUID
	Email string
	Name  string
	Roles []string
}

// ByID returns a user. NotFound ("user_not_found") if there is none.
func (s *Service) ByID(ctx context.Context, id uuid.UUID) (User, error) {
	u := User{ID: id}
	err := s.source.QueryRow(ctx, `SELECT email, name, roles FROM platform.users WHERE id = $1`, id).Scan(&u.Email, &u.Name, &u.Roles)
	if errors.Is(err, pgx.ErrNoRows) {
		return User{}, fault.New(fault.NotFound, "user_not_found", "there is no such user")
	}
	if err != nil {
		return User{}, fmt.Errorf("read user: %w", err)
	}
	return u, nil
}

// Contact returns how to reach a user, with ByID's faults.
func (s *Service) Contact(ctx context.Context, id uuid.UUID) (name, email string, err error) {
	u, err := s.ByID(ctx, id)
	return u.Name, u.Email, err
}

// byEmail returns a user with the stored password hash, or pgx.ErrNoRows.
func (s *Service) byEmail(ctx context.Context, r postgres.Reader, email string) (u User, hash string, err error) {
	err = r.QueryRow(ctx, `SELECT id, email, name, roles, password_hash FROM platform.users WHERE lower(email) = lower($1)`, email).
		Scan(&u.ID, &u.Email, &u.Name, &u.Roles, &hash)
	return u, hash, err
}

// NewUser is a user to be added.
type NewUser struct {
	User
	Password string
}

// AddMissing adds the users whose address is not known yet, and leaves the others as they are, however often
// and by however many replicas at once it is called. The addresses must be fit for mail; see package mail.
//
// Invalid ("password_length"): a password is empty, or longer than 1024 bytes. Conflict ("id_taken"): another
// address has the id.
func (s *Service) AddMissing(ctx context.Context, users []NewUser) error {
	for _, u := range users {
		if len(u.Password) == 0 || len(u.Password) > maxPassword {
			return fault.Newf(fault.Invalid, "password_length", "a password has 1 to %d bytes", maxPassword)
		}
		if _, _, err := s.byEmail(ctx, s.source, u.Email); err == nil {
			continue
		} else if !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("read user: %w", err)
		}
		hash, err := s.hasher.hash(ctx, u.Password)
		if err != nil {
			return err
		}
		err = s.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error { return s.add(ctx, tx, u.User, hash) })
		if err != nil {
			return fmt.Errorf("add user: %w", err)
		}
	}
	return nil
}

func (s *Service) add(ctx context.Context, tx *postgres.Tx, u User, hash string) error {
	tag, err := tx.Exec(ctx, `
		INSERT INTO platform.users (id, email, name, password_hash, roles) VALUES ($1, $2, $3, $4, coalesce($5::text[], '{}'))
		ON CONFLICT DO NOTHING`, u.ID, u.Email, u.Name, hash, u.Roles)
	if err != nil || tag.RowsAffected() == 1 {
		return err
	}
	// Somebody else was faster, with the address or with the id alone.
	_, _, err = s.byEmail(ctx, tx, u.Email)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.New(fault.Conflict, "id_taken", "another user has the id")
	}
	return err
}
