package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"example.com/plenary/platform/fault"
)

// healthLimit is how long the program may take to say that it is ready; its own checks take 2 s at most.
const healthLimit = 4 * time.Second

// runHealthcheck asks the program that listens at HTTP_ADDR whether it is ready, for container engines: the image
// has no other program that could. It returns nil if it is, and an Unavailable fault if it is not.
func runHealthcheck(ctx context.Context, config Config, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, config.HTTPAddr) // "0.0.0.0" and no host at all mean this machine
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/readyz", nil)
	if err != nil {
		return fmt.Errorf("health check: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "not_running", "nobody answers at "+config.HTTPAddr)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "not_running", "no whole answer comes from "+config.HTTPAddr)
	}
	fmt.Fprintf(out, "%s\n", answer) // engines keep it for whoever looks into a container that is not well
	if response.StatusCode != http.StatusOK {
		return fault.New(fault.Unavailable, "not_ready", "the program is not ready: "+response.Status)
	}
	return nil
}
