package risk

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// flowComparators compare the sources, the protocol and the ports of a flow.
var flowComparators = []comparator{
	{covers: sourceCovers, widerItems: widerSources, loose: never}, words,
	{covers: portsCover, widerItems: widerPorts, loose: isRange},
}

// sourceCovers compares networks. Any other source covers only itself, and * covers everyone.
func sourceCovers(outer, inner string) bool {
	if outer == inner || outer == "*" {
		return true
	}
	o, err := netip.ParsePrefix(outer)
	i, errInner := netip.ParsePrefix(inner)
	return err == nil && errInner == nil && o.Bits() <= i.Bits() && o.Masked().Contains(i.Addr())
}

// widerSources returns the networks that contain a network, in the form of source.
func widerSources(inner string) []string {
	out := []string{"*"}
	if strings.HasPrefix(inner, "{") {
		return out // a selector
	}
	p, err := netip.ParsePrefix(inner)
	for bits := p.Bits() - 1; err == nil && bits >= 0; bits-- {
		p = netip.PrefixFrom(p.Addr(), bits).Masked()
		out = append(out, p.String())
	}
	return out
}

// portsCover compares ports in the forms "80", "80-90" and "*".
func portsCover(outer, inner string) bool {
	if outer == "*" || outer == inner {
		return true
	}
	oLow, oHigh, ok := ports(outer)
	iLow, iHigh, alsoOK := ports(inner)
	return ok && alsoOK && oLow <= iLow && iHigh <= oHigh
}

// widerPorts returns *, and the plain port if inner is a range of one.
func widerPorts(inner string) []string {
	out := []string{"*"}
	if low, high, ok := ports(inner); ok && low == high {
		out = append(out, strconv.Itoa(low))
	}
	return out
}

// isRange reports whether ports are a range, or one port in an unusual spelling.
func isRange(s string) bool {
	_, port, ok := strings.Cut(s, " ")
	if !ok {
		port = s
	}
	low, high, ok := ports(port)
	return ok && (low != high || strconv.Itoa(low) != port)
}

func ports(s string) (low, high int, ok bool) {
	first, last, ranged := strings.Cut(s, "-")
	if !ranged {
		last = first
	}
	low, err := strconv.Atoi(first)
	high, errLast := strconv.Atoi(last)
	return low, high, err == nil && errLast == nil
}

// source normalizes a network. A single address becomes a network of one address.
func source(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen()).String()
	}
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Masked().String()
	}
	switch strings.ToLower(s) {
	case "*", "internet", "any":
		return "*"
	}
	return s
}

// coversInternet reports whether address ranges cover a sixteenth of all addresses or more, alone or together:
// for example 0.0.0.0/0, its two halves, or the whole range without a small part.
func coversInternet(sources []string) bool {
	four, six := families(sources)
	return four || six
}

// families reports whether the IPv4 ranges and the IPv6 ranges are wide.
func families(sources []string) (wideFour, wideSix bool) {
	var four, six []netip.Prefix
	for _, s := range sources {
		if s == "*" {
			return true, true
		}
		p, err := netip.ParsePrefix(s)
		switch {
		case err != nil:
		case p.Addr().Is4():
			four = append(four, p.Masked())
		default:
			six = append(six, p.Masked())
		}
	}
	// The public internet is 2000::/3 of IPv6.
	return space(four) >= 1.0/16, space(six) >= 1.0/128
}

// space returns the share of all addresses that the prefixes cover. It sorts the list; a prefix
// inside another one does not count.
func space(list []netip.Prefix) float64 {
	slices.SortFunc(list, func(a, b netip.Prefix) int { return cmp.Compare(a.Bits(), b.Bits()) })
	share, counted, lengths := 0.0, map[netip.Prefix]bool{}, []int(nil)
	for _, p := range list {
		within := func(bits int) bool {
			outer, err := p.Addr().Prefix(bits)
			return err == nil && counted[outer]
		}
		if slices.ContainsFunc(lengths, within) {
			continue
		}
		counted[p] = true
		share += 1 / float64(uint64(1)<<min(p.Bits(), maxBits))
		if len(lengths) == 0 || lengths[len(lengths)-1] != p.Bits() {
			lengths = append(lengths, p.Bits())
		}
	}
	return share
}

// maxBits is the longest prefix whose share is computed exactly.
const maxBits = 62

// opens reports whether after admits flows that before does not, and whether such flows come from
// most of the internet.
func opens(before, after []grant) (more, toWorld bool) {
	were := mergeSources(before)
	known := newCoverage(flowComparators[1:], withoutSources(were))
	for _, flow := range mergeSources(after) {
		four, six := families(flow.dims[0].items)
		if !four && !six {
			continue
		}
		var sources []string
		for _, i := range known.covering(grant{dims: flow.dims[1:]}) {
			sources = append(sources, were[i].dims[0].items...)
		}
		hadFour, hadSix := families(sources)
		if toWorld = four && !hadFour || six && !hadSix || known.budget < 0; toWorld {
			break
		}
	}
	return !covered(flowComparators, after, before), toWorld
}

func withoutSources(flows []grant) []grant {
	out := make([]grant, len(flows))
	for i, f := range flows {
		out[i].dims = f.dims[1:]
	}
	return out
}

// mergeSources merges the sources of grants that have the same protocol and ports.
func mergeSources(flows []grant) []grant {
	var out []grant
	at := map[string]int{}
	for _, f := range flows {
		key := fmt.Sprintf("%q", []any{f.dims[1].items, f.dims[2].items})
		i, ok := at[key]
		if !ok {
			at[key] = len(out)
			sources := itemsOnly(slices.Clone(f.dims[0].items)...)
			out = append(out, grant{dims: []dimension{sources, f.dims[1], f.dims[2]}})
			continue
		}
		sources := &out[i].dims[0]
		sources.items = append(sources.items, f.dims[0].items...)
	}
	return out
}

// judgedFlows lists the attributes that hold the sources of inbound flows.
var judgedFlows = []string{"ingress[*].cidr_blocks", "ingress[*].ipv6_cidr_blocks", "cidr_blocks", "ipv6_cidr_blocks",
	"cidr_ipv4", "cidr_ipv6", "source_ranges", "source_address_prefix", "source_address_prefixes",
	"security_rule[*].source_address_prefix", "security_rule[*].source_address_prefixes"}

// inbound returns the flows that a cloud resource admits. An unknown kind admits none.
func inbound(kind string, v raw.Value) []grant {
	switch kind {
	case "aws_security_group", "aws_default_security_group":
		return each(get(v, "ingress"), awsRule)
	case "aws_security_group_rule":
		if text(get(v, "type")) == "ingress" {
			return each(v, awsRule)
		}
	case "aws_vpc_security_group_ingress_rule":
		return each(v, awsIngressRule)
	case "aws_network_acl", "aws_default_network_acl":
		return each(get(v, "ingress"), aclRule)
	case "aws_network_acl_rule":
		return each(v, aclRule)
	case "google_compute_firewall":
		return googleFirewall(v)
	case "azurerm_network_security_rule":
		return each(v, azureRule)
	case "azurerm_network_security_group":
		return each(get(v, "security_rule"), azureRule)
	}
	return nil
}

func each(list raw.Value, read func(raw.Value) (grant, bool)) []grant {
	var out []grant
	for _, v := range oneOrMore(list) {
		if g, ok := read(v); ok {
			out = append(out, g)
		}
	}
	return out
}

func flow(sources []string, protocol, ports string) grant {
	for i := range sources {
		sources[i] = source(sources[i])
	}
	if protocol == "-1" || protocol == "all" || protocol == "" {
		protocol = "*"
	}
	return grant{dims: []dimension{itemsOnly(sources...), itemsOnly(strings.ToLower(protocol)), itemsOnly(ports)}}
}

// gather returns the texts of several attributes in one list.
func gather(v raw.Value, keys ...string) []string {
	var out []string
	for _, k := range keys {
		list, _ := texts(get(v, k))
		for _, s := range list {
			if s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

func awsRule(v raw.Value) (grant, bool) {
	sources := gather(v, "cidr_blocks", "ipv6_cidr_blocks", "prefix_list_ids", "security_groups",
		"source_security_group_id")
	if get(v, "self").IsTrue() {
		sources = append(sources, "self")
	}
	return awsFlow(sources, text(get(v, "protocol")), v), v.IsObject()
}

func awsIngressRule(v raw.Value) (grant, bool) {
	sources := gather(v, "cidr_ipv4", "cidr_ipv6", "prefix_list_id", "referenced_security_group_id")
	return awsFlow(sources, text(get(v, "ip_protocol")), v), v.IsObject()
}

func awsFlow(sources []string, protocol string, v raw.Value) grant {
	from, to := text(get(v, "from_port")), text(get(v, "to_port"))
	if protocol == "-1" || from == "" || to == "" || from == "-1" {
		return flow(sources, protocol, "*")
	}
	if from == to {
		return flow(sources, protocol, from)
	}
	return flow(sources, protocol, from+"-"+to)
}

// aclRule reads a rule of a network ACL that admits something.
func aclRule(v raw.Value) (grant, bool) {
	action := text(get(v, "action")) + text(get(v, "rule_action"))
	if !strings.EqualFold(action, "allow") || get(v, "egress").IsTrue() {
		return grant{}, false
	}
	return awsFlow(gather(v, "cidr_block", "ipv6_cidr_block"), text(get(v, "protocol")), v), true
}

// googleFirewall reads a firewall rule. Without sources it applies to everyone, without ports to all
// ports: https://cloud.google.com/firewall/docs/firewalls
func googleFirewall(v raw.Value) []grant {
	if strings.EqualFold(text(get(v, "direction")), "EGRESS") || get(v, "disabled").IsTrue() {
		return nil
	}
	sources := gather(v, "source_ranges", "source_tags", "source_service_accounts")
	if len(sources) == 0 {
		sources = []string{"0.0.0.0/0"}
	}
	return each(get(v, "allow"), func(a raw.Value) (grant, bool) {
		g := flow(slices.Clone(sources), text(get(a, "protocol")), "*")
		if list := gather(a, "ports"); len(list) > 0 {
			g.dims[2] = itemsOnly(list...)
		}
		return g, a.IsObject()
	})
}

func azureRule(v raw.Value) (grant, bool) {
	if !strings.EqualFold(text(get(v, "access")), "Allow") || !strings.EqualFold(text(get(v, "direction")), "Inbound") {
		return grant{}, false
	}
	sources := gather(v, "source_address_prefix", "source_address_prefixes", "source_application_security_group_ids")
	g := flow(sources, strings.ReplaceAll(text(get(v, "protocol")), "*", "all"), "*")
	g.dims[2] = itemsOnly(gather(v, "destination_port_range", "destination_port_ranges")...)
	return g, true
}

// peerComparators compare the peers and the ports of a NetworkPolicy.
var peerComparators = []comparator{
	{covers: sourceCovers, widerItems: widerSources, loose: never},
	{covers: policyPortCovers, widerItems: widerPolicyPorts, loose: isRange},
}

// policyPortCovers compares ports in the forms "TCP 80-90", "TCP *" and "*".
func policyPortCovers(outer, inner string) bool {
	if outer == "*" || outer == inner {
		return true
	}
	protocol, ports, _ := strings.Cut(outer, " ")
	innerProtocol, innerPorts, _ := strings.Cut(inner, " ")
	return protocol == innerProtocol && portsCover(ports, innerPorts)
}

// widerPolicyPorts returns all ports, all ports of the protocol, and the plain port if inner is a
// range of one.
func widerPolicyPorts(inner string) []string {
	out := []string{"*"}
	protocol, ports, ok := strings.Cut(inner, " ")
	for _, w := range widerPorts(ports) {
		if ok {
			out = append(out, protocol+" "+w)
		}
	}
	return out
}

// networkPolicyWidens reports whether a NetworkPolicy admits more than before, or no longer applies
// to a direction. Another rule covers a changed pod selector.
// https://kubernetes.io/docs/concepts/services-networking/network-policies/
func networkPolicyWidens(before, after raw.Value) bool {
	for _, d := range []struct{ name, list, peers string }{{"Ingress", "ingress", "from"}, {"Egress", "egress", "to"}} {
		if !isolates(before, d.name, d.list) {
			continue
		}
		if !isolates(after, d.name, d.list) {
			return true
		}
		if !covered(peerComparators, policyFlows(after, d.list, d.peers), policyFlows(before, d.list, d.peers)) {
			return true
		}
	}
	return false
}

// isolates reports whether a policy applies to a direction. Without policyTypes, or with none, it applies to
// ingress, and to egress if it has egress rules.
func isolates(v raw.Value, name, list string) bool {
	if types := get(v, "spec", "policyTypes"); len(oneOrMore(types)) > 0 {
		return textSetOf(types)[name]
	}
	return name == "Ingress" || get(v, "spec", list).Len() > 0
}

func policyFlows(v raw.Value, list, peers string) []grant {
	return each(get(v, "spec", list), func(rule raw.Value) (grant, bool) {
		return grant{dims: []dimension{policyPeers(get(rule, peers)), policyPorts(get(rule, "ports"))}}, true
	})
}

func policyPeers(v raw.Value) dimension {
	if v.Len() == 0 {
		return itemsOnly("*")
	}
	d := dimension{}
	for _, peer := range oneOrMore(v) {
		block := get(peer, "ipBlock")
		if !block.IsNull() && get(block, "except").Len() == 0 {
			d.items = append(d.items, source(text(get(block, "cidr"))))
			continue
		}
		// Any other peer covers only itself. JSON with sorted keys makes equal peers equal texts.
		whole, _ := raw.Text(peer)
		d.items = append(d.items, whole)
	}
	return d
}

func policyPorts(v raw.Value) dimension {
	if v.Len() == 0 {
		return itemsOnly("*")
	}
	d := dimension{}
	for _, p := range oneOrMore(v) {
		protocol, port, end := text(get(p, "protocol")), text(get(p, "port")), text(get(p, "endPort"))
		if protocol == "" {
			protocol = "TCP"
		}
		switch {
		case port == "":
			port = "*"
		case end != "":
			port = fmt.Sprintf("%s-%s", port, end)
		}
		d.items = append(d.items, protocol+" "+port)
	}
	return d
}
