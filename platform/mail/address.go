package mail

import (
	"strings"

	"example.com/plenary/platform/fault"
)

// Address is a person who gets mail.
type Address struct {
	Name  string // as the person writes it; may be empty
	Email string // as CheckAddress allows it
}

// CheckAddress returns nil for an address that [Sender.Send] writes to, and else an Invalid fault
// ("mail.bad_address"). Ask it where an address enters the system, so that nobody waits for a mail in vain.
//
// An address is used as it stands or refused; nothing is trimmed or repaired. Allowed is what the mailboxes of
// this world use: letters, digits and the marks of RFC 5322 with single dots between them, "@", and a host name.
// Refused are quoted local parts, comments and address literals, in which a server may find another recipient
// or an option than the one who checked; "%" and "!", by which some still route to another domain; a leading
// "-", which mail programs take for an option; and everything outside ASCII: an international domain is
// written in its "xn--" form.
func CheckAddress(address string) error {
	local, domain, _ := strings.Cut(address, "@")
	if len(address) <= 254 && len(local) <= 64 && isDotAtom(local) && !strings.ContainsAny(local, "%!") &&
		!strings.HasPrefix(local, "-") && isDomain(domain) {
		return nil
	}
	return fault.New(fault.Invalid, "mail.bad_address",
		"this is not an e-mail address that can be written to; an international domain is written in its xn-- form")
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

const digits = "0123456789"

// isDotAtom reports whether s is a dot-atom of RFC 5322: it needs no quotes and contains no dot at either end.
func isDotAtom(s string) bool {
	for atom := range strings.SplitSeq(s, ".") {
		if atom == "" || strings.Trim(atom, letters+digits+"!#$%&'*+-/=?^_`{|}~") != "" {
			return false
		}
	}
	return true
}

// isDomain reports whether s is a host name. A name whose last label is a number is an IP address.
func isDomain(s string) bool {
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, letters+digits+"-") != "" {
			return false
		}
		last = label
	}
	return len(s) <= 253 && strings.Trim(last, digits) != ""
}
