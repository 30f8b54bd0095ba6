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

// NewUser is a user to be added.
type NewUser struct {
	User
	Password string
}

// AddMissing adds the users whose address is not known yet, and leaves the others as they are. The addresses
// must be fit for mail; see package mail.
func (s *Service) AddMissing(ctx context.Context, users []NewUser) error {
	for _, u := range users {
		if _, _, err := s.byEmail(ctx, u.Email); err == nil {
			continue
		} else if !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("read user: %w", err)
		}
		hash, err := s.hasher.hash(ctx, u.Password)
		if err != nil {
			return err
		}
		err = s.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Exec(ctx, `
				INSERT INTO platform.users (id, email, name, password_hash, roles) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
				u.ID, u.Email, u.Name, hash, u.Roles)
			return err
		})
		if err != nil {
			return fmt.Errorf("add user: %w", err)
		}
	}
	return nil
}
