package pgtest

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// The roles of every test database. Neither is a superuser.
const (
	OwnerRole = "test_owner"
	AppRole   = "test_app"
)

// AsApp returns the address of a test database for the role that an application has in production: it can make
// nothing, and gets at what the migrations granted it.
func AsApp(t testing.TB, databaseURL string) string {
	t.Helper()
	h := Server(t)
	return readdress(h.url, AppRole, h.password, nameIn(t, databaseURL))
}

// AsSuperuser returns the address of a test database for a superuser.
func AsSuperuser(t testing.TB, databaseURL string) string {
	t.Helper()
	return readdress(Server(t).url, "", "", nameIn(t, databaseURL))
}

func nameIn(t testing.TB, databaseURL string) string {
	t.Helper()
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		t.Fatal("not the address of a database")
	}
	return config.Database
}

// readdress returns a server's address with another user, unless that is "", and another database.
func readdress(serverURL, user, password, database string) string {
	u, err := url.Parse(serverURL)
	if err != nil {
		return serverURL // newHandle has refused it
	}
	u.Path = "/" + database
	query := u.Query()
	query.Del("dbname")
	query.Del("database")
	if user != "" {
		query.Del("user")
		query.Del("password")
		switch {
		case u.Host == "": // over a socket: libpq wants a host before it accepts a user in front of it
			query.Set("user", user)
			if password != "" {
				query.Set("password", password)
			}
			u.User = nil
		case password != "":
			u.User = url.UserPassword(user, password)
		default:
			u.User = url.User(user)
		}
	}
	u.RawQuery = strings.NewReplacer("+", "%20", "%2F", "/").Replace(query.Encode()) // libpq takes a plus for a plus
	text := u.String()
	if u.Host == "" {
		// String drops the empty host, which pgx and psql want to see.
		text = u.Scheme + "://" + strings.TrimPrefix(strings.TrimPrefix(text, u.Scheme+":"), "//")
	}
	return text
}

// credentials returns what an address says about its user. Only addresses in the form of a URL will do.
func credentials(serverURL string) (user, password string, err error) {
	config, err := pgx.ParseConfig(serverURL)
	if err != nil || !strings.Contains(serverURL, "://") {
		return "", "", errors.New(
			"TEST_DATABASE_URL is not an address like postgres://postgres:secret@localhost:5432/postgres")
	}
	return config.User, config.Password, nil
}
