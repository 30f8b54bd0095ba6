package httpx

import (
	"log/slog"
	"net/http"
	"time"
)

// NewServer returns a server that a slow or greedy client cannot hold up. Its limits are for whole requests and
// answers; a hijacked connection (a WebSocket) is free of them. The caller starts it and shuts it down.
func NewServer(addr string, handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      90 * time.Second, // more than ReadTimeout and a request's own timeout together
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
