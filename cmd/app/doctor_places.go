package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"example.com/plenary/platform/devpg"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/host"
	"example.com/plenary/platform/mail"
)

// checkHTTP tries to take the address, and finds out who has it.
func (d *doctor) checkHTTP(ctx context.Context) {
	address := d.config.HTTPAddr
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return // the configuration's fault, which is reported
	}
	if ip := net.ParseIP(name); d.config.Demo && !(name == "localhost" || ip.IsLoopback()) {
		d.say(doubtful, "http", "DEMO=true on %s: whoever reaches it knows the demo's logins; keep it to this machine", address)
	}
	listener, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		_ = listener.Close()
		d.say(fine, "http", "%s is free", address)
	case errors.Is(err, syscall.EADDRINUSE):
		if version := plenaryAt(ctx, address); version != "" {
			d.say(doubtful, "http", "Plenary %s serves at %s already: give another one its own HTTP_ADDR", version, address)
			return
		}
		d.say(failed, "http", "%s is taken by %s: end that, or set HTTP_ADDR to another port", address, holder(port))
	case errors.Is(err, syscall.EACCES):
		d.say(failed, "http", "this user may not listen on port %s: set HTTP_ADDR to a port above 1023", port)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		d.say(failed, "http", "%s is no address of this machine: set HTTP_ADDR to 127.0.0.1:%s, or 0.0.0.0:%s for all", address, port, port)
	default:
		d.say(failed, "http", "cannot listen at %s (%s): check HTTP_ADDR", address, reason(err))
	}
}

// plenaryAt returns the version of the Plenary that serves at an address, or "".
func plenaryAt(ctx context.Context, address string) string {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/version", nil)
	if err != nil {
		return ""
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	var build host.Build
	if response.StatusCode != http.StatusOK || json.NewDecoder(response.Body).Decode(&build) != nil || build.Go == "" {
		return ""
	}
	return build.Version
}

// holder names the process that listens on a port, where the kernel tells (Linux) and lets us look.
func holder(port string) string {
	number, _ := strconv.ParseUint(port, 10, 16)
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for line := range strings.Lines(string(text)) {
			// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …; 0A is LISTEN
			columns := strings.Fields(line)
			if len(columns) > 9 && columns[3] == "0A" && strings.HasSuffix(columns[1], fmt.Sprintf(":%04X", number)) {
				sockets["socket:["+columns[9]+"]"] = true
			}
		}
	}
	descriptors, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, descriptor := range descriptors {
		if target, err := os.Readlink(descriptor); err == nil && sockets[target] {
			process := filepath.Dir(filepath.Dir(descriptor))
			name, _ := os.ReadFile(filepath.Join(process, "comm"))
			return fmt.Sprintf("%s (pid %s)", cmp.Or(strings.TrimSpace(string(name)), "a process"), filepath.Base(process))
		}
	}
	return "another process (lsof -i :" + port + " names it)"
}

// checkPrograms looks for PostgreSQL's programs, which only app dev needs.
func (d *doctor) checkPrograms(ctx context.Context) {
	if d.config.DatabaseURL != "" {
		d.say(fine, "programs", "PostgreSQL's programs are not needed: DATABASE_URL is set")
		return
	}
	installed, err := devpg.FindPrograms(ctx, "")
	if err != nil {
		d.say(failed, "programs", "%v", err)
		return
	}
	kept, _ := filepath.Glob(filepath.Join(d.config.DataDir, "postgres-*"))
	var unreadable []string
	for _, folder := range kept {
		major, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(folder), "postgres-"))
		if err != nil {
			continue // a log file
		}
		for _, p := range installed {
			if p.Major == major {
				d.say(fine, "programs", "PostgreSQL %d in %s, for the data in %s", p.Major, p.Dir, folder)
				return
			}
		}
		unreadable = append(unreadable, folder)
	}
	if len(unreadable) > 0 {
		d.say(failed, "programs", "no installed version of PostgreSQL can read %s: install that version, or move the folder away to start empty",
			strings.Join(unreadable, " and "))
		return
	}
	d.say(fine, "programs", "PostgreSQL %d in %s", installed[0].Major, installed[0].Dir)
}

// checkDataDir makes sure that the folder can be written to, and says who has it.
func (d *doctor) checkDataDir(ctx context.Context) {
	dir := d.config.DataDir
	if dir == "" {
		return // the configuration's fault, which is reported
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent := filepath.Dir(filepath.Clean(dir))
		for _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist); _, err = os.Stat(parent) {
			parent = filepath.Dir(parent)
		}
		d.checkWritable(parent, dir+" will be made")
		return
	case err != nil:
		d.say(failed, "data folder", "%s cannot be entered (%s): set DATA_DIR to a folder of this user's", dir, reason(err))
		return
	case !info.IsDir():
		d.say(failed, "data folder", "%s is no folder: set DATA_DIR to another name", dir)
		return
	}
	if _, err := os.Stat(filepath.Join(dir, "lock")); err == nil { // somebody locks this one, now or at times
		release, err := devpg.LockDir(dir, "app doctor")
		if fault.Is(err, "folder_in_use") {
			d.say(doubtful, "data folder", "%v: stop that one before you start app dev here", err)
			return
		}
		if err == nil {
			release()
		}
	}
	d.checkWritable(dir, dir+" can be written to")
}

func (d *doctor) checkWritable(dir, good string) {
	file, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		d.say(failed, "data folder", "%s cannot be written to (%s): set DATA_DIR to a folder of this user's", dir, reason(err))
		return
	}
	_ = file.Close()
	_ = os.Remove(file.Name())
	d.say(fine, "data folder", "%s", good)
}

// mailAddress returns where the mail server listens. Its errors quote nothing of the URL.
func mailAddress(c Config) (string, error) {
	if _, err := mail.New(mail.Config{URL: string(c.SMTPURL), From: c.MailFrom}); err != nil {
		return "", err
	}
	u, err := url.Parse(string(c.SMTPURL))
	if err != nil {
		return "", errors.New("SMTP_URL is not understood")
	}
	port := "587"
	if u.Scheme == "smtps" {
		port = "465"
	}
	if pool, err := x509.SystemCertPool(); u.Query().Get("tls") != "none" && (err != nil || pool.Equal(x509.NewCertPool())) {
		return "", errors.New("this machine has no certificates of authorities (package ca-certificates): no mail server can prove who it is")
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)), nil
}

// reason returns the last words of an error: what the system said, without the addresses around it.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 0 {
			inner = joined.Unwrap()[0] // one host has several addresses
		}
		if inner == nil {
			break
		}
		err = inner
	}
	if err == context.DeadlineExceeded {
		return "no answer within " + checkLimit.String()
	}
	return err.Error()
}
