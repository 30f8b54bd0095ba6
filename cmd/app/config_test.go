package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/fault"
)

func TestDefaultsAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	c, err := readConfig(nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.HTTPAddr != "127.0.0.1:8080" || c.DataDir != ".data" || c.OrderExpiresAfter != 30*time.Minute || c.Lease != 30*time.Second ||
		c.Role != RoleAll || c.BaseURL != "http://127.0.0.1:8080" {
		t.Errorf("%+v", c)
	}
	if c.mailTimeout() >= c.Lease {
		t.Errorf("an attempt to send a mail takes %v, a lease %v", c.mailTimeout(), c.Lease)
	}
}

func TestBadConfigurationIsRefusedWithItsName(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"HTTP_ADDR": "8080", "BASE_URL": "tickets", "ORDER_EXPIRES_AFTER": "-1m", "LEASE": "10ms", "GATEWAY_TIMEOUT": "1h",
		"PROCESS_ROLE": "boss", "LOG_FORMAT": "xml", "LOG_LEVEL": "loud", "DEMO": "maybe", "WORKERS": "0", "DATABASE_MAX_CONNS": "1",
		"STOP_GRACE": "1m", "UNKNOWN_GRACE": "-1s", "SAFETY_POLL": "0s",
		"TRUSTED_PROXIES": "10.0.0.0/8,everybody", "TRUSTED_ORIGINS": "app.example.com", "RATE_LIMIT_USER": "much", "RATE_LIMIT_ADDRESS": "0/s", "RATE_LIMIT_LOGIN": "10/fortnight",
	} {
		_, err := readConfig(map[string]string{name: value})
		field := strings.ReplaceAll(strings.ToLower(name), "_", "")
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(strings.ReplaceAll(strings.ToLower(err.Error()), "_", ""), field) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

func TestServingNeedsItsServers(t *testing.T) {
	t.Parallel()
	const database, mail = "postgres://u:p@h/d", "smtps://u:p@h"
	for _, c := range []struct {
		environ map[string]string
		missing string
	}{
		{map[string]string{}, "DATABASE_URL"},
		{map[string]string{"DATABASE_URL": database}, "SMTP_URL"},
		{map[string]string{"DATABASE_URL": database, "SMTP_URL": mail}, ""},
		{map[string]string{"DATABASE_URL": database, "DEMO": "true"}, ""},
		{map[string]string{"DATABASE_URL": database, "PROCESS_ROLE": "web"}, ""},
	} {
		config, err := readConfig(c.environ)
		if err != nil {
			t.Fatal(err)
		}
		err = config.forServing()
		if (c.missing == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.missing)) {
			t.Errorf("%v: %v", c.environ, err)
		}
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	config, err := readConfig(map[string]string{"DATABASE_URL": "postgres://u:hush@h/d", "SMTP_URL": "smtps://u:hush@h"})
	if err != nil {
		t.Fatal(err)
	}
	if shown := fmt.Sprintf("%+v", config); strings.Contains(shown, "hush") {
		t.Error("a password shows:", shown)
	}
}
