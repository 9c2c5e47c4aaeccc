package netguard_test

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

func TestKindOf(t *testing.T) {
	for kind, list := range map[netguard.Kind][]string{
		netguard.Public: {"140.82.121.4", "1.1.1.1", "::ffff:140.82.121.4", "2606:50c0:8000::153", "2a00:1450::1",
			"192.0.1.1", "172.32.0.1", "100.128.0.1"},
		netguard.Loopback: {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"},
		netguard.Private: {"10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.1.1", "fc00::1",
			"fdab::1", "::ffff:10.0.0.1"},
		netguard.Special: {
			"0.0.0.0", "0.1.2.3", "::", "169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fe80::1%eth0",
			"224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "192.0.0.8", "192.0.0.192",
			"192.0.2.1", "198.51.100.7", "203.0.113.9", "192.88.99.1", "2001:db8::1", "3fff::1", "2002:7f00:1::",
			"2002:0a00:1::", "2001::1", "2001:0:53aa:64c::", "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "::7f00:1",
			"100::1", "5f00::1", "fec0::1", "168.63.129.16", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254",
			"2606:50c0::1%eth0",
		},
	} {
		for _, text := range list {
			if got := netguard.KindOf(netip.MustParseAddr(text)); got != kind {
				t.Errorf("%s: got %s, want %s", text, got, kind)
			}
		}
	}
	if got := netguard.KindOf(netip.Addr{}); got != netguard.Special {
		t.Errorf("no address at all: got %s", got)
	}
}

// An IPv4 address does not become public when it is written in any of the IPv6 notations.
func TestNoIPv4AddressHides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		four := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address"))
		plain := netip.AddrFrom4(four)
		if got, want := netguard.KindOf(netip.AddrFrom16(plain.As16())), netguard.KindOf(plain); got != want {
			t.Fatalf("%s: %s when it is written as an IPv6 address, else %s", plain, got, want)
		}
		for prefix, at := range map[string]int{"64:ff9b::": 12, "2002::": 2, "2001::": 12, "::": 12} {
			inside := netip.MustParseAddr(prefix).As16()
			copy(inside[at:], four[:])
			if hidden := netip.AddrFrom16(inside); netguard.KindOf(hidden) == netguard.Public {
				t.Fatalf("%s, which has %s inside, is called public", hidden, plain)
			}
		}
	})
}

// TestIsPlaintext checks that only plain HTTP that leaves the machine counts.
func TestIsPlaintext(t *testing.T) {
	for base, open := range map[string]bool{
		"https://nuon.example": false, "http://127.0.0.1:7111": false, "http://[::1]:7111": false,
		"http://localhost:1": false, "http://LOCALHOST": false, "http://[::ffff:127.0.0.1]": false,
		"http://nuon.example": true, "http://10.0.0.1:7111": true, "http://127.0.0.1.example": true,
	} {
		if netguard.IsPlaintext(base) != open {
			t.Errorf("%s: %v", base, !open)
		}
	}
}
