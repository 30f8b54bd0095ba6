package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"

	"example.com/plenary/platform/fault"
)

// HTTPServer returns a component that serves on listener, or on server.Addr if listener is nil. When it stops,
// it accepts no more connections and lets open requests finish. Those that its time does not suffice for have
// their contexts cancelled and their connections closed; what their handlers hold is not waited for.
//
// Hijacked connections, such as WebSockets, are not the server's any more: their owner closes them from a
// function that it registers with server.RegisterOnShutdown.
//
// Unless server has a BaseContext, it is given one.
func HTTPServer(name string, server *http.Server, listener net.Listener) Component {
	requests, cutOff := context.WithCancel(context.Background())
	if server.BaseContext == nil {
		server.BaseContext = func(net.Listener) context.Context { return requests }
	}
	return Component{
		Name: name,
		Start: func(context.Context) (err error) {
			if listener == nil {
				listener, err = Listen(server.Addr)
			}
			return err
		},
		Run: func(context.Context) error {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
		Stop: func(ctx context.Context) error {
			if err := server.Shutdown(ctx); err != nil {
				cutOff() // a handler that reads nothing would not notice that its connection is closed
				return errors.Join(fmt.Errorf("requests were cut off: %w", err), server.Close())
			}
			return nil
		},
	}
}

// Listen opens a TCP address of the form "127.0.0.1:8080". If it is taken, the Conflict fault
// ("address_in_use") tells in one line how to choose another.
func Listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fault.Newf(fault.Conflict, "address_in_use",
			"%s is already in use; choose another address, such as HTTP_ADDR=%s", address, next(address))
	case err != nil:
		return nil, fmt.Errorf("listen on HTTP_ADDR=%s: %w", address, err)
	}
	return listener, nil
}

// next returns the address with the port that follows.
func next(address string) string {
	host, port, _ := net.SplitHostPort(address)
	n, err := strconv.ParseUint(port, 10, 15) // below 32768: those above are given out to clients
	if err != nil {
		n = 8080
	}
	return net.JoinHostPort(host, strconv.FormatUint(n+1, 10))
}
