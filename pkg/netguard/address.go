package netguard

import (
	"net/netip"
	"net/url"
	"strings"
)

// Kind classifies an address by the network that it belongs to.
type Kind string

// The kinds.
const (
	Public   Kind = "public"   // reaches the same machine from anywhere on the internet
	Private  Kind = "private"  // belongs to a private network
	Loopback Kind = "loopback" // this machine
	Special  Kind = "special"  // link-local, multicast, cloud metadata, documentation, or with an embedded address
)

// KindOf classifies an address. An IPv4 address in IPv6 notation (::ffff:a.b.c.d) has the kind of
// the IPv4 address.
func KindOf(address netip.Addr) Kind {
	address = address.Unmap()
	switch {
	case !address.IsValid() || address.Zone() != "" || inPrefixes(special, address):
		return Special
	case address.IsLoopback():
		return Loopback
	case address.IsPrivate() || inPrefixes(private, address):
		return Private
	case !address.IsGlobalUnicast() || address.Is6() && !globalUnicast.Contains(address):
		return Special
	}
	return Public
}

// IsPlaintext reports whether others can read the traffic with a URL: plain HTTP that leaves the machine.
func IsPlaintext(base string) bool {
	parsed, err := url.Parse(base)
	if err != nil || parsed.Scheme != "http" || strings.EqualFold(parsed.Hostname(), "localhost") {
		return false
	}
	address, err := netip.ParseAddr(parsed.Hostname())
	return err != nil || KindOf(address) != Loopback
}

// globalUnicast is the part of IPv6 that is assigned to machines on the internet (RFC 4291, section
// 2.4). Addresses outside of it embed an IPv4 address (RFC 6052, RFC 8215), which could be a
// private one, or lead nowhere.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// private lists the private ranges that net/netip does not count as private: shared address space
// (RFC 6598).
var private = []netip.Prefix{netip.MustParsePrefix("100.64.0.0/10")}

// special lists the ranges that net/netip has no method for, and the metadata addresses of clouds
// that are inside ranges of other kinds. Metadata services return credentials to the machines of
// the cloud.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),          // this network (RFC 791)
	netip.MustParsePrefix("192.0.0.0/24"),       // protocol assignments (RFC 6890)
	netip.MustParsePrefix("192.0.2.0/24"),       // documentation (RFC 5737), also the next two
	netip.MustParsePrefix("198.51.100.0/24"),    //
	netip.MustParsePrefix("203.0.113.0/24"),     //
	netip.MustParsePrefix("192.88.99.0/24"),     // relays of 6to4 (RFC 7526)
	netip.MustParsePrefix("198.18.0.0/15"),      // benchmarks (RFC 2544)
	netip.MustParsePrefix("240.0.0.0/4"),        // reserved (RFC 1112), with the broadcast address
	netip.MustParsePrefix("2001::/23"),          // protocol assignments, including Teredo (RFC 2928, RFC 4380)
	netip.MustParsePrefix("2001:db8::/32"),      // documentation (RFC 3849)
	netip.MustParsePrefix("3fff::/20"),          // documentation (RFC 9637)
	netip.MustParsePrefix("2002::/16"),          // 6to4: an IPv4 address inside (RFC 3056)
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure's
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba Cloud's
	netip.MustParsePrefix("fd00:ec2::/32"),      // AWS's
	netip.MustParsePrefix("fd20:ce::254/128"),   // Google Cloud's
}

func inPrefixes(list []netip.Prefix, address netip.Addr) bool {
	for _, prefix := range list {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}
