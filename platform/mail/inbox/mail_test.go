package inbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
)

var samples = map[string]struct {
	raw  string
	want Mail
}{
	"no header of its own": {"\r\nbody", Mail{Text: "body"}},
	"encoded words": {
		"Subject: =?utf-8?q?Z=C3=B6e?=\r\n =?iso-8859-1?q?_M=FCller?= plain\r\n\r\nx", Mail{Subject: "Zöe Müller plain", Text: "x"},
	},
	"unknown character set": {"Subject: =?koi8-r?b?8NLJ18XU?=\r\n\r\nx", Mail{Subject: "=?koi8-r?b?8NLJ18XU?=", Text: "x"}},
	"quoted-printable": {
		"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: Quoted-Printable\r\n\r\nZ=C3=B6e =\r\ntwo\r\nthree =3D",
		Mail{Text: "Zöe two\nthree ="},
	},
	"base64": {
		"Content-Type: text/html\r\nContent-Transfer-Encoding: BASE64\r\n\r\nPHA+WsO2\r\nZTwvcD4=\r\n", Mail{HTML: "<p>Zöe</p>"},
	},
	"broken base64":           {"Content-Transfer-Encoding: base64\r\n\r\nYWJj!!!", Mail{Text: "abc"}},
	"broken quoted-printable": {"Content-Transfer-Encoding: quoted-printable\r\n\r\nabc =ZZ def", Mail{Text: "abc =ZZ def"}},
	"broken content type":     {"Content-Type: ;;;\r\n\r\nx", Mail{Text: "x"}},
	"no boundary":             {"Content-Type: multipart/alternative\r\n\r\nx", Mail{}},
	"invalid UTF-8":           {"Subject: \xff\r\n\r\n\xfe", Mail{Subject: "\uFFFD", Text: "\uFFFD"}},
	"line that is no header":  {"Subject: kept\r\nno colon here\r\n\r\nx", Mail{Subject: "kept"}},
	"attachments and nesting": {
		strings.ReplaceAll(`Content-Type: multipart/mixed; boundary=a

--a
Content-Type: text/plain
Content-Disposition: attachment; filename=x.txt

attached
--a
Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/plain

plain
--b
Content-Type: text/html
Content-Transfer-Encoding: quoted-printable

<p title=3D"x">html</p>
--b--
--a
Content-Type: text/plain

second
--a--
`, "\n", "\r\n"),
		Mail{Text: "plain", HTML: `<p title="x">html</p>`},
	},
	"parts within parts": {nested(3), Mail{Text: "inmost"}},
	"parts without end":  {nested(12), Mail{}},
}

// nested returns a text within so many multiparts.
func nested(depth int) string {
	var b strings.Builder
	for i := range depth {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n", i+100, i+100)
	}
	return b.String() + "\r\ninmost"
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, sample := range samples {
		id, err := uuid.NewV7()
		if err != nil {
			t.Fatal(err)
		}
		got := read(id, append(envelopeHeader("a@b.test", []string{"c@d.test"}), sample.raw...))
		want := sample.want
		want.ID, want.To, want.ReceivedOn = id.String(), "c@d.test", got.ReceivedOn
		if got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
		}
	}
}

// FuzzRead: whatever lies in the folder, the inbox can be shown.
func FuzzRead(f *testing.F) {
	for _, sample := range samples {
		f.Add([]byte(sample.raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := read(uuid.UUID{6: 0x70}, raw)
		for _, s := range []string{m.MessageID, m.To, m.Subject, m.Text, m.HTML} {
			if s != strings.ToValidUTF8(s, "") {
				t.Errorf("%q is not valid UTF-8", s)
			}
		}
	})
}
