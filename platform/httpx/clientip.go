package httpx

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/netip"
	"strings"

	"example.com/plenary/platform/fault"
)

// maxHops bounds how far back a request's way is followed. No real one is nearly as long.
const maxHops = 32

// ParseProxies reads the networks, or single addresses, of proxies whose word about their clients is taken.
// Invalid ("proxies") for anything else.
func ParseProxies(list []string) ([]netip.Prefix, error) {
	var proxies []netip.Prefix
	for _, text := range list {
		text = strings.TrimSpace(text)
		prefix, err := netip.ParsePrefix(text)
		if addr, single := netip.ParseAddr(text); single == nil {
			addr = canonical(addr)
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil || prefix != prefix.Masked() {
			return nil, fault.New(fault.Invalid, "proxies", "a proxy is named by its address or network, like 10.0.0.0/8")
		}
		if prefix.Bits() == 0 {
			return nil, fault.New(fault.Invalid, "proxies", "to trust every address is to let each client say where it is")
		}
		proxies = append(proxies, prefix)
	}
	return proxies, nil
}

type clientKey struct{}

// ClientAddress returns where a request comes from: the peer, or, if that is a trusted proxy, the last address on
// the way that is none. The zero address if that is not known, and outside of a request.
func ClientAddress(ctx context.Context) netip.Addr {
	addr, _ := ctx.Value(clientKey{}).(netip.Addr)
	return addr
}

// ClientNetwork returns what limits go by: the address, or the /64 of an IPv6 address, because whoever has one of
// those has all of it. The zero prefix if the address is not known.
func ClientNetwork(ctx context.Context) netip.Prefix {
	addr := ClientAddress(ctx)
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	network, _ := addr.Prefix(bits) // the zero address has none
	return network
}

// locate finds out where the request comes from, and whether it came by TLS: what proxies say about that is taken
// from those in Config.TrustedProxies alone, and from anybody else it is ignored. Behind such a proxy r.TLS
// is set for what came to it by TLS, so that everything further in sees the request as the client sent it.
func (a *API) locate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addr := peerOf(r)
		byTLS := r.TLS != nil
		if a.trusts(addr) {
			byTLS = byTLS || last(r.Header.Values("X-Forwarded-Proto"), "https")
			addr = a.clientBehind(addr, r.Header.Values("X-Forwarded-For"))
		}
		r = r.WithContext(context.WithValue(r.Context(), clientKey{}, addr))
		if byTLS && r.TLS == nil {
			r.TLS = &tls.ConnectionState{HandshakeComplete: true}
		}
		next.ServeHTTP(w, r)
	})
}

// peerOf returns who is at the other end of the connection; the zero address on a Unix socket.
func peerOf(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return canonical(peer.Addr())
}

func (a *API) trusts(addr netip.Addr) bool {
	for _, proxy := range a.config.TrustedProxies {
		if proxy.Contains(addr) {
			return true
		}
	}
	return false
}

// clientBehind goes the way back from proxy: each trusted one has appended the address that it saw. The first
// address that is no trusted proxy is the client's; what stands before it, the client may have written itself. What
// is no address ends the way at the proxy that let it through.
func (a *API) clientBehind(proxy netip.Addr, forwarded []string) netip.Addr {
	way := strings.Split(strings.Join(forwarded, ","), ",")
	at := proxy
	for i := len(way) - 1; i >= 0 && i >= len(way)-maxHops; i-- {
		hop, ok := parseHop(way[i])
		if !ok {
			return at
		}
		if at = hop; !a.trusts(at) {
			return at
		}
	}
	return at
}

// parseHop reads an entry of X-Forwarded-For: an address, with a port if the proxy has added one.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return canonical(withPort.Addr()), true
	}
	if inner, bracketed := strings.CutPrefix(text, "["); bracketed && strings.HasSuffix(inner, "]") {
		text = inner[:len(inner)-1]
	}
	addr, err := netip.ParseAddr(text)
	return canonical(addr), err == nil
}

// canonical gives an address its one form: an IPv4 address is one, however it is wrapped, and no zone.
func canonical(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// last reports whether the last value of a list in a header, which the nearest proxy has written, is want.
func last(values []string, want string) bool {
	list := strings.Join(values, ",")
	return strings.EqualFold(strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:]), want)
}
