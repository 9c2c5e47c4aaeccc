package risk

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// networkPolicy is the spec of a NetworkPolicy as the API has it.
type networkPolicy struct {
	PolicyTypes []string     `json:"policyTypes,omitempty"`
	Ingress     []policyRule `json:"ingress,omitempty"`
	Egress      []policyRule `json:"egress,omitempty"`
}

type policyRule struct {
	From  []policyPeer `json:"from,omitempty"`
	To    []policyPeer `json:"to,omitempty"`
	Ports []policyPort `json:"ports,omitempty"`
}

// policyPeer is one of an address block and a selector of pods.
type policyPeer struct {
	IPBlock     *addressBlock  `json:"ipBlock,omitempty"`
	PodSelector map[string]any `json:"podSelector,omitempty"`
}

type addressBlock struct {
	CIDR   string   `json:"cidr"`
	Except []string `json:"except,omitempty"`
}

type policyPort struct {
	Protocol string `json:"protocol,omitempty"`
	Port     any    `json:"port,omitempty"`
	EndPort  int    `json:"endPort,omitempty"`
}

// connection is from or to an address or a pod with a label.
type connection struct {
	egress   bool
	address  netip.Addr
	app      string
	protocol string
	port     int
}

// admits reports whether a policy admits a connection, by the rules of Kubernetes.
// Source: https://kubernetes.io/docs/reference/kubernetes-api/networking/network-policy-v1/
func (p networkPolicy) admits(c connection) bool {
	direction, rules := "Ingress", p.Ingress
	if c.egress {
		direction, rules = "Egress", p.Egress
	}
	applies := slices.Contains(p.PolicyTypes, direction)
	if len(p.PolicyTypes) == 0 {
		applies = !c.egress || len(p.Egress) > 0
	}
	return !applies || slices.ContainsFunc(rules, func(r policyRule) bool {
		peers := slices.Concat(r.From, r.To)
		return (len(peers) == 0 || slices.ContainsFunc(peers, func(peer policyPeer) bool { return peer.has(c) })) &&
			(len(r.Ports) == 0 || slices.ContainsFunc(r.Ports, func(port policyPort) bool { return port.has(c) }))
	})
}

func (p policyPeer) has(c connection) bool {
	if p.IPBlock == nil {
		return c.app != "" && p.PodSelector["matchLabels"].(map[string]any)["app"] == c.app
	}
	in := func(cidr string) bool { return c.address.IsValid() && netip.MustParsePrefix(cidr).Contains(c.address) }
	return in(p.IPBlock.CIDR) && !slices.ContainsFunc(p.IPBlock.Except, in)
}

func (p policyPort) has(c connection) bool {
	if protocol := p.Protocol; protocol != c.protocol && (protocol != "" || c.protocol != "TCP") {
		return false
	}
	port, numbered := p.Port.(int)
	return p.Port == nil || numbered && (port == c.port || p.EndPort > 0 && port <= c.port && c.port <= p.EndPort)
}

func networkPolicies() *rapid.Generator[networkPolicy] {
	peer := rapid.Custom(func(t *rapid.T) policyPeer {
		if rapid.Bool().Draw(t, "of pods") {
			return policyPeer{PodSelector: map[string]any{"matchLabels": map[string]any{
				"app": rapid.SampledFrom([]string{"web", "db"}).Draw(t, "app")}}}
		}
		block := &addressBlock{CIDR: rapid.SampledFrom([]string{"10.0.0.0/8", "10.1.0.0/16", "0.0.0.0/0", "10.1.2.3/32",
			"10.1.2.3/8", "::/0"}).Draw(t, "block")}
		if block.CIDR == "10.0.0.0/8" && rapid.Bool().Draw(t, "with an exception") {
			block.Except = []string{"10.1.0.0/16"}
		}
		return policyPeer{IPBlock: block}
	})
	port := rapid.Custom(func(t *rapid.T) policyPort {
		p := policyPort{Protocol: rapid.SampledFrom([]string{"", "TCP", "UDP"}).Draw(t, "protocol"),
			Port: rapid.SampledFrom([]any{nil, 80, 85, 79, "http"}).Draw(t, "port")}
		if number, ok := p.Port.(int); ok && rapid.Bool().Draw(t, "is a range") {
			p.EndPort = rapid.SampledFrom([]int{number, 90}).Draw(t, "end")
		}
		return p
	})
	rules := func(egress bool) *rapid.Generator[[]policyRule] {
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) policyRule {
			peers, ports := rapid.SliceOfN(peer, 0, 2).Draw(t, "peers"), rapid.SliceOfN(port, 0, 2).Draw(t, "ports")
			if egress {
				return policyRule{To: peers, Ports: ports}
			}
			return policyRule{From: peers, Ports: ports}
		}), 0, 2)
	}
	return rapid.Custom(func(t *rapid.T) networkPolicy {
		return networkPolicy{Ingress: rules(false).Draw(t, "ingress"), Egress: rules(true).Draw(t, "egress"),
			PolicyTypes: rapid.SampledFrom([][]string{nil, {"Ingress"}, {"Egress"}, {"Ingress", "Egress"}}).Draw(t, "types")}
	})
}

// connections returns connections of all kinds, also such that no policy names.
func connections() []connection {
	var all []connection
	for _, egress := range []bool{false, true} {
		for _, protocol := range []string{"TCP", "UDP", "SCTP"} {
			for _, port := range []int{1, 79, 80, 85, 90, 91} {
				for _, app := range []string{"web", "db", "other"} {
					all = append(all, connection{egress: egress, app: app, protocol: protocol, port: port})
				}
				for _, address := range []string{"10.1.2.3", "10.1.2.4", "10.9.9.9", "192.0.2.1", "2001:db8::1"} {
					all = append(all, connection{egress: egress, address: netip.MustParseAddr(address), protocol: protocol,
						port: port})
				}
			}
		}
	}
	return all
}

// TestNetworkPolicyWidensNeverMisses checks that a policy that newly admits a connection widens, and that one with
// fewer rules does not.
func TestNetworkPolicyWidensNeverMisses(t *testing.T) {
	all := connections()
	object := func(t *rapid.T, p networkPolicy, emptyTypes bool) raw.Value {
		spec := map[string]any{"podSelector": map[string]any{}, "ingress": p.Ingress, "egress": p.Egress}
		if len(p.PolicyTypes) > 0 || emptyTypes {
			spec["policyTypes"] = append([]string{}, p.PolicyTypes...)
		}
		encoded, err := json.Marshal(map[string]any{"kind": "NetworkPolicy", "spec": spec})
		if err != nil {
			t.Fatal(err)
		}
		v, err := raw.Parse(encoded)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	rapid.Check(t, func(t *rapid.T) {
		before, after := networkPolicies().Draw(t, "before"), networkPolicies().Draw(t, "after")
		emptyTypes := rapid.Bool().Draw(t, "with an empty list of types")
		was, is := object(t, before, emptyTypes), object(t, after, emptyTypes)
		wider := networkPolicyWidens(was, is)
		for _, c := range all {
			if after.admits(c) && !before.admits(c) && !wider {
				t.Fatalf("%+v is newly admitted", c)
			}
		}
		if networkPolicyWidens(is, is) {
			t.Fatalf("the same widens: %+v", after)
		}
		fewer := after
		fewer.PolicyTypes = []string{"Ingress", "Egress"}
		full := object(t, fewer, false)
		fewer.Ingress = after.Ingress[:rapid.IntRange(0, len(after.Ingress)).Draw(t, "fewer")]
		if networkPolicyWidens(full, object(t, fewer, false)) {
			t.Fatalf("less widens: %+v", fewer)
		}
	})
}
