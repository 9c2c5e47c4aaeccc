package risk

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// policy holds what an AWS policy document allows and denies.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
type policy struct {
	allow, deny []grant
	// named reports for each grant in allow whether its statement names principals, as the policy of
	// a bucket or a key does. Only in such a statement does "all principals" mean everyone.
	named []bool
}

// The versions of the policy language. In the older one, the default for a document without a
// version, ${…} has no special meaning.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_version.html
const (
	policyVersion    = "2012-10-17"
	oldPolicyVersion = "2008-10-17"
)

// parseDocument parses the JSON of a policy. It returns false if the text is no JSON or if an object
// has a key twice, because readers disagree which one counts.
func parseDocument(text string) (raw.Value, bool) {
	if len(text) > maxPolicy {
		return raw.Value{}, false
	}
	return tree.JSONText(text)
}

// textsOf returns a function that rewrites the texts of a statement so that texts of two versions
// can be compared.
func textsOf(version string) (func(string) string, bool) {
	switch version {
	case policyVersion:
		return escapedWildcards.Replace, true
	case oldPolicyVersion, "":
		return func(s string) string { return strings.ReplaceAll(s, "${", "$\x00{") }, true
	}
	return nil, false
}

// escapedWildcards replaces the wildcards that ${…} escapes.
var escapedWildcards = strings.NewReplacer("${*}", "\x01", "${?}", "\x02", "${$}", "$")

// policyComparators compare actions, resources and principals.
var policyComparators = []comparator{
	globs, globs,
	{
		covers: principalCovers, widerItems: allItems, loose: never,
		meet: func(a, b string) bool { return principalCovers(a, b) || principalCovers(b, a) },
	},
}

// principalCovers compares principals. A principal is a full name or everyone; other wildcards have
// no meaning.
func principalCovers(outer, inner string) bool { return outer == "*" || outer == inner }

// maxPolicy bounds a document, in bytes. AWS accepts at most 32 KiB.
const maxPolicy = 256 << 10

// parsePolicy parses a document that is a text or an object. Null and the empty text allow and deny
// nothing. It returns false for a value that is no policy, or a policy that it does not support.
func parsePolicy(v raw.Value) (p policy, ok bool) {
	if v.IsNull() {
		return policy{}, true
	}
	if document, isText := stringText(v); isText {
		if strings.TrimSpace(document) == "" {
			return policy{}, true
		}
		if v, ok = parseDocument(document); !ok {
			return policy{}, false
		}
	}
	statements, ok := v.Get("Statement")
	written, known := textsOf(text(get(v, "Version")))
	if !ok || !known {
		return policy{}, false
	}
	for _, s := range oneOrMore(statements) {
		g, understood := parseStatement(s, written)
		if !understood {
			return policy{}, false
		}
		switch effect, _ := stringText(get(s, "Effect")); effect {
		case "Allow":
			p.allow, p.named = append(p.allow, g), append(p.named, !get(s, "Principal").IsNull() ||
				!get(s, "NotPrincipal").IsNull())
		case "Deny":
			p.deny = append(p.deny, g)
		default:
			return policy{}, false
		}
	}
	return p, true
}

// looksLikePolicy reports whether a value is a document with statements. Other attributes are called
// "policy", too.
func looksLikePolicy(v raw.Value) bool {
	if text, ok := stringText(v); ok {
		if strings.Contains(strings.ToLower(text), `"statement"`) || !strings.Contains(text, `\u`) {
			return strings.Contains(strings.ToLower(text), `"statement"`)
		}
		v, _ = parseDocument(text)
	}
	return slices.ContainsFunc(v.Keys(), func(k string) bool { return strings.EqualFold(k, "Statement") })
}

// unreadable reports whether a policy changed to one that this package cannot parse.
func unreadable(before, after raw.Value) bool {
	_, ok := parsePolicy(after)
	return !ok && !before.Equal(after)
}

func parseStatement(s raw.Value, written func(string) string) (grant, bool) {
	if !s.IsObject() {
		return grant{}, false
	}
	actions, ok1 := parseDimension(s, "Action", action)
	resources, ok2 := parseDimension(s, "Resource", func(r string) string { return resource(written(r)) })
	principals, ok3 := parsePrincipals(s)
	cond, ok4 := parseCondition(get(s, "Condition"), written)
	return grant{dims: []dimension{actions, resources, principals}, cond: cond}, ok1 && ok2 && ok3 && ok4
}

// parseDimension reads KEY or NotKEY. A statement with neither applies to everything.
func parseDimension(s raw.Value, key string, fold func(string) string) (dimension, bool) {
	v, has := s.Get(key)
	not, hasNot := s.Get("Not" + key)
	if has && hasNot {
		return dimension{}, false
	}
	if !has && !hasNot {
		return itemsOnly("*"), true
	}
	if hasNot {
		v = not
	}
	items, ok := texts(v)
	for i := range items {
		items[i] = fold(items[i])
	}
	return dimension{except: hasNot, items: items}, ok
}

// anyAction and anyResource match the patterns that cover everything: wildcards in service and
// action, or in all parts of an ARN.
var (
	anyAction   = lazyregexp.New(`^[*?]*\*[*?]*(:[*?]*\*[*?]*)?$`)
	anyResource = lazyregexp.New(`^(arn:)?(aws[a-z-]*:)?[*?:]*\*$`)
)

// action normalizes an action: every action of every service is "*".
func action(s string) string {
	if s = strings.ToLower(s); anyAction.MatchString(s) {
		return "*"
	}
	return s
}

// resource normalizes a resource: every resource is "*".
func resource(s string) string {
	if anyResource.MatchString(s) {
		return "*"
	}
	return s
}

func parsePrincipals(s raw.Value) (dimension, bool) {
	v, has := s.Get("Principal")
	not, hasNot := s.Get("NotPrincipal")
	if has && hasNot {
		return dimension{}, false
	}
	if !has && !hasNot {
		return itemsOnly("*"), true
	}
	if hasNot {
		v = not
	}
	if text, ok := stringText(v); ok {
		return dimension{except: hasNot, items: []string{text}}, true
	}
	d := dimension{except: hasNot}
	for _, kind := range v.Keys() {
		items, ok := texts(get(v, kind))
		if !ok {
			return dimension{}, false
		}
		for _, item := range items {
			d.items = append(d.items, principal(kind, item))
		}
	}
	return d, v.IsObject()
}

// principal normalizes a principal: everyone is "*", and an account is the ARN of its root.
func principal(kind, item string) string {
	if kind == "AWS" {
		if item == "*" {
			return "*"
		}
		if len(item) == 12 && strings.Trim(item, "0123456789") == "" {
			item = "arn:aws:iam::" + item + ":root"
		}
	}
	return kind + " " + item
}

// parseCondition reads {OPERATOR: {KEY: VALUE or [VALUE…]}}.
func parseCondition(v raw.Value, written func(string) string) (condition, bool) {
	if v.IsNull() {
		return nil, true
	}
	c := condition{}
	for _, operator := range v.Keys() {
		tests := get(v, operator)
		for _, key := range tests.Keys() {
			values, ok := texts(get(tests, key))
			if !ok {
				return nil, false
			}
			for i := range values {
				values[i] = written(values[i])
			}
			at := strings.ToLower(operator + " " + key)
			c[at] = append(c[at], values...)
		}
		if !tests.IsObject() {
			return nil, false
		}
	}
	return c, v.IsObject()
}

func cutOperator(key string) (operator, what string, ok bool) { return strings.Cut(key, " ") }

// widens reports whether after allows something that before does not, or no longer denies what
// before denies. A document that cannot be parsed counts as wider unless it is unchanged.
func widens(before, after raw.Value) bool {
	if before.Equal(after) {
		return false
	}
	was, ok := parsePolicy(before)
	is, alsoOK := parsePolicy(after)
	if !ok || !alsoOK {
		return true
	}
	// What is allowed but always denied is effectively not allowed.
	return !covered(policyComparators, is.allow, slices.Concat(was.allow, is.deny)) ||
		!covered(policyComparators, was.deny, is.deny)
}

// PolicyWidens reports whether an AWS policy document allows something that the previous one does
// not or no longer denies something, and whether it newly allows every action on every resource.
// Null is a document that allows nothing. A document that cannot be parsed counts as wider unless it
// is unchanged.
func PolicyWidens(before, after raw.Value) (wider, everything bool) {
	return widens(before, after), allPowerful(before, after)
}

// public reports whether a policy newly allows something to everyone without a condition.
func public(before, after raw.Value) bool {
	is, ok := parsePolicy(after)
	was, wasOK := parsePolicy(before)
	if !ok || !wasOK {
		return false
	}
	var open []grant
	for i, g := range is.allow {
		p := g.dims[2]
		if len(g.cond) == 0 && (p.except || slices.Contains(p.items, "*")) && is.named[i] {
			open = append(open, grant{dims: []dimension{g.dims[0], g.dims[1], itemsOnly("*")}})
		}
	}
	return !covered(policyComparators, open, slices.Concat(was.allow, is.deny))
}

// allPowerful reports whether a policy newly allows every action on every resource.
func allPowerful(before, after raw.Value) bool {
	is, ok := parsePolicy(after)
	was, wasOK := parsePolicy(before)
	if !ok || !wasOK {
		return false
	}
	had := newCoverage(policyComparators, was.allow)
	everything := []grant{{dims: []dimension{itemsOnly("*"), itemsOnly("*"), {items: nil}}}}
	for _, g := range is.allow {
		everything[0].dims[2] = g.dims[2]
		everything[0].cond = g.cond
		if covered(policyComparators, everything, []grant{g}) && !had.covers(everything[0]) {
			return true
		}
	}
	return false
}

// serviceWildcard reports whether a policy newly allows every action of one service on every
// resource. Another rule covers every action of all services.
func serviceWildcard(before, after raw.Value) bool {
	is, ok := parsePolicy(after)
	was, wasOK := parsePolicy(before)
	if !ok || !wasOK {
		return false
	}
	var wild []grant
	for i, g := range is.allow {
		if g.dims[0].except || is.named[i] || !slices.Contains(g.dims[1].items, "*") || g.dims[1].except {
			continue
		}
		for _, action := range g.dims[0].items {
			if service, rest, _ := strings.Cut(action, ":"); rest == "*" && service != "*" {
				wild = append(wild, grant{dims: []dimension{itemsOnly(action), itemsOnly("*"), g.dims[2]}, cond: g.cond})
			}
		}
	}
	return !covered(policyComparators, wild, slices.Concat(was.allow, is.deny))
}

// escalatingActions and escalatingOnAll list actions that lead to other rights. Those in
// escalatingOnAll concern roles and count only where they are allowed on every resource.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_job-functions.html
var (
	escalatingActions = []string{"iam:createpolicyversion", "iam:setdefaultpolicyversion", "iam:attachuserpolicy",
		"iam:attachgrouppolicy", "iam:attachrolepolicy", "iam:putuserpolicy", "iam:putgrouppolicy", "iam:putrolepolicy",
		"iam:addusertogroup", "iam:updateassumerolepolicy", "iam:createaccesskey", "iam:createloginprofile",
		"iam:updateloginprofile", "iam:deleterolepermissionsboundary", "iam:deleteuserpermissionsboundary"}
	escalatingOnAll = []string{"iam:passrole", "sts:assumerole"}
)

// policyEscalates reports whether a policy newly allows an action that leads to other rights.
func policyEscalates(before, after raw.Value) bool {
	is, ok := parsePolicy(after)
	was, wasOK := parsePolicy(before)
	if !ok || !wasOK {
		return false
	}
	var found []grant
	for i, g := range is.allow {
		if is.named[i] {
			continue
		}
		all := !g.dims[1].except && slices.ContainsFunc(g.dims[1].items,
			func(r string) bool { return globCovers(r, "arn:aws:iam::*:role/*") })
		for _, action := range slices.Concat(escalatingActions, escalatingOnAll) {
			budget := maxCompared
			allows := policyComparators[0].coveredBy(itemsOnly(action), g.dims[0], &budget)
			if allows && (all || !slices.Contains(escalatingOnAll, action)) {
				found = append(found, grant{dims: []dimension{itemsOnly(action), g.dims[1], g.dims[2]}, cond: g.cond})
			}
		}
	}
	return !covered(policyComparators, found, slices.Concat(was.allow, is.deny))
}
