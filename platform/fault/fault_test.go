package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"example.com/plenary/platform/fault"
)

func Example() {
	reserve := func(left int) error {
		if left == 0 {
			return fault.New(fault.Conflict, "sales.out_of_stock", "not enough tickets are left")
		}
		return nil
	}
	err := fmt.Errorf("place order: %w", reserve(0))

	fmt.Println(fault.KindOf(err), fault.As(err).Code)
	fmt.Println(fault.Is(err, "sales.out_of_stock"))
	// Output:
	// conflict sales.out_of_stock
	// true
}

func TestKindSurvivesWrapping(t *testing.T) {
	cause := errors.New("connection refused")
	err := fmt.Errorf("outer: %w", fmt.Errorf("inner: %w",
		fault.Wrap(cause, fault.Unavailable, "mail.unreachable", "the mail server does not answer")))

	if got := fault.KindOf(err); got != fault.Unavailable {
		t.Errorf("kind = %v, want unavailable", got)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	if got, want := fault.As(err).Message, "the mail server does not answer"; got != want {
		t.Errorf("message = %q, want %q", got, want)
	}
}

func TestUnknownErrorIsInternal(t *testing.T) {
	if got := fault.KindOf(errors.New("boom")); got != fault.Internal {
		t.Errorf("kind = %v, want internal", got)
	}
	if fault.As(errors.New("boom")) != nil || fault.Is(nil, "x") {
		t.Error("an error that nobody classified has no fault")
	}
}

func TestRetryableTable(t *testing.T) {
	want := map[fault.Kind]bool{
		fault.Internal: true, fault.Invalid: false, fault.Unauthenticated: false, fault.Forbidden: false,
		fault.NotFound: true, fault.Conflict: true, fault.PreconditionFailed: false, fault.RateLimited: true,
		fault.Unavailable: true,
	}
	for kind, retry := range want {
		err := fmt.Errorf("twice: %w", fmt.Errorf("wrapped: %w", fault.New(kind, "x", "y")))
		if got := fault.Retryable(err); got != retry {
			t.Errorf("Retryable(%v) = %v, want %v", kind, got, retry)
		}
	}
	if !fault.Retryable(errors.New("unclassified")) {
		t.Error("an unclassified failure is worth another attempt")
	}
}

func TestViolationsReportAllAtOnce(t *testing.T) {
	var v fault.Violations
	if v.Err() != nil {
		t.Fatal("nothing recorded, yet an error")
	}
	v.Check(true, "email", "required", "is missing")
	v.Check(false, "lines[0].quantity", "out_of_range", "must be 1 to 20")
	v.Add("paymentMethod", "unknown_value", "is not a payment method")

	e := fault.As(v.Err())
	if e.Kind != fault.Invalid || len(e.Fields) != 2 || e.Fields[0].Path != "lines[0].quantity" {
		t.Errorf("got %+v", e)
	}
}
