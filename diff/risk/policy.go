package risk

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// policy is what an AWS policy document allows and denies.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
type policy struct {
	allow, deny []grant
	// named says of each of allow that it names principals, as the policy of a bucket or a key does: only there is "all" everyone.
	named []bool
}

// The versions of policies. In the older one, which a document without a version has, ${…} is a text like any other.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_version.html
const (
	policyVersion    = "2012-10-17"
	oldPolicyVersion = "2008-10-17"
)

// parseDocument reads the JSON of a policy. Not ok: it is none, or an object in it has a key twice, so that nobody knows which counts.
func parseDocument(text string) (raw.Value, bool) {
	if len(text) > maxPolicy {
		return raw.Value{}, false
	}
	return tree.JSONText(text)
}

// textsOf writes the texts of a statement so that those of two versions can be compared.
func textsOf(version string) (func(string) string, bool) {
	switch version {
	case policyVersion:
		return escapedWildcards.Replace, true
	case oldPolicyVersion, "":
		return func(s string) string { return strings.ReplaceAll(s, "${", "$\x00{") }, true
	}
	return nil, false
}

// escapedWildcards are those that ${…} makes plain characters.
var escapedWildcards = strings.NewReplacer("${*}", "\x01", "${?}", "\x02", "${$}", "$")

// policyMeasures are actions, resources and principals.
var policyMeasures = []measure{
	globs, globs,
	{
		covers: principalCovers, wider: allOfThem, loose: never,
		meet: func(a, b string) bool { return principalCovers(a, b) || principalCovers(b, a) },
	},
}

// principalCovers: a principal is written in full, or is everyone; other wildcards have no meaning.
func principalCovers(outer, inner string) bool { return outer == "*" || outer == inner }

// maxPolicy bounds a document, in bytes. The largest that AWS takes is 32 KiB.
const maxPolicy = 256 << 10

// parsePolicy reads a document that is a text or an object. Null and the empty text allow and deny nothing. Not ok: it is no policy,
// or one that this package does not understand.
func parsePolicy(v raw.Value) (p policy, ok bool) {
	if v.IsNull() {
		return policy{}, true
	}
	if document, isText := str(v); isText {
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
		switch effect, _ := str(get(s, "Effect")); effect {
		case "Allow":
			p.allow, p.named = append(p.allow, g), append(p.named, !get(s, "Principal").IsNull() || !get(s, "NotPrincipal").IsNull())
		case "Deny":
			p.deny = append(p.deny, g)
		default:
			return policy{}, false
		}
	}
	return p, true
}

// looksLikePolicy says that a value is a document with statements: other documents are called policies, too.
func looksLikePolicy(v raw.Value) bool {
	if text, ok := str(v); ok {
		if strings.Contains(strings.ToLower(text), `"statement"`) || !strings.Contains(text, `\u`) {
			return strings.Contains(strings.ToLower(text), `"statement"`)
		}
		v, _ = parseDocument(text)
	}
	return slices.ContainsFunc(v.Keys(), func(k string) bool { return strings.EqualFold(k, "Statement") })
}

// unreadable reports whether a policy that differs is one that this package does not understand.
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

// parseDimension reads KEY or NotKEY; where there is neither, the statement is about all.
func parseDimension(s raw.Value, key string, fold func(string) string) (dimension, bool) {
	v, has := s.Get(key)
	not, hasNot := s.Get("Not" + key)
	if has && hasNot {
		return dimension{}, false
	}
	if !has && !hasNot {
		return these("*"), true
	}
	if hasNot {
		v = not
	}
	items, ok := texts(v)
	for i := range items {
		items[i] = fold(items[i])
	}
	return dimension{but: hasNot, items: items}, ok
}

// anything is a pattern that matches all there is: in a service and an action, or in all parts of an ARN.
var (
	anyAction   = lazyregexp.New(`^[*?]*\*[*?]*(:[*?]*\*[*?]*)?$`)
	anyResource = lazyregexp.New(`^(arn:)?(aws[a-z-]*:)?[*?:]*\*$`)
)

// action writes an action in one way: every action of every service is "*".
func action(s string) string {
	if s = strings.ToLower(s); anyAction.MatchString(s) {
		return "*"
	}
	return s
}

// resource writes a resource in one way: every one is "*".
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
		return these("*"), true
	}
	if hasNot {
		v = not
	}
	if text, ok := str(v); ok {
		return dimension{but: hasNot, items: []string{text}}, true
	}
	d := dimension{but: hasNot}
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

// principal writes a principal in one way: everyone is "*", and an account is the ARN of its root.
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

// widens says that after allows something that before does not, or no longer denies what before denies. A document that is not
// understood counts as wider, unless it is the same.
func widens(before, after raw.Value) bool {
	if before.Equal(after) {
		return false
	}
	was, ok := parsePolicy(before)
	is, alsoOK := parsePolicy(after)
	if !ok || !alsoOK {
		return true
	}
	// What is allowed but always denied is not allowed.
	return !covered(policyMeasures, is.allow, slices.Concat(was.allow, is.deny)) || !covered(policyMeasures, was.deny, is.deny)
}

// PolicyWidens says that an AWS policy document allows something that the one before does not, or no longer denies what that one denies,
// and whether it newly allows every action on every resource. Null is a document that allows nothing. One that is not understood counts
// as wider, unless it is the same.
func PolicyWidens(before, after raw.Value) (wider, everything bool) {
	return widens(before, after), allPowerful(before, after)
}

// public says that a policy newly allows everyone something without a condition.
func public(before, after raw.Value) bool {
	is, ok := parsePolicy(after)
	was, wasOK := parsePolicy(before)
	if !ok || !wasOK {
		return false
	}
	var open []grant
	for i, g := range is.allow {
		p := g.dims[2]
		if len(g.cond) == 0 && (p.but || slices.Contains(p.items, "*")) && is.named[i] {
			open = append(open, grant{dims: []dimension{g.dims[0], g.dims[1], these("*")}})
		}
	}
	return !covered(policyMeasures, open, slices.Concat(was.allow, is.deny))
}

// allPowerful says that a policy newly allows every action on every resource.
func allPowerful(before, after raw.Value) bool {
	is, ok := parsePolicy(after)
	was, wasOK := parsePolicy(before)
	if !ok || !wasOK {
		return false
	}
	had := newCoverage(policyMeasures, was.allow)
	everything := []grant{{dims: []dimension{these("*"), these("*"), {items: nil}}}}
	for _, g := range is.allow {
		everything[0].dims[2] = g.dims[2]
		everything[0].cond = g.cond
		if covered(policyMeasures, everything, []grant{g}) && !had.covers(everything[0]) {
			return true
		}
	}
	return false
}

// serviceWildcard reports whether a policy newly allows every action of one service on every resource. Every action of all services is
// another rule's.
func serviceWildcard(before, after raw.Value) bool {
	is, ok := parsePolicy(after)
	was, wasOK := parsePolicy(before)
	if !ok || !wasOK {
		return false
	}
	var wild []grant
	for i, g := range is.allow {
		if g.dims[0].but || is.named[i] || !slices.Contains(g.dims[1].items, "*") || g.dims[1].but {
			continue
		}
		for _, action := range g.dims[0].items {
			if service, rest, _ := strings.Cut(action, ":"); rest == "*" && service != "*" {
				wild = append(wild, grant{dims: []dimension{these(action), these("*"), g.dims[2]}, cond: g.cond})
			}
		}
	}
	return !covered(policyMeasures, wild, slices.Concat(was.allow, is.deny))
}

// escalating are actions with which one can get other rights. Those that are about roles count where they are allowed on every resource.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_job-functions.html
var (
	escalatingActions = []string{"iam:createpolicyversion", "iam:setdefaultpolicyversion", "iam:attachuserpolicy", "iam:attachgrouppolicy",
		"iam:attachrolepolicy", "iam:putuserpolicy", "iam:putgrouppolicy", "iam:putrolepolicy", "iam:addusertogroup",
		"iam:updateassumerolepolicy", "iam:createaccesskey", "iam:createloginprofile", "iam:updateloginprofile",
		"iam:deleterolepermissionsboundary", "iam:deleteuserpermissionsboundary"}
	escalatingOnAll = []string{"iam:passrole", "sts:assumerole"}
)

// policyEscalates reports whether a policy newly allows an action with which one can get other rights.
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
		all := !g.dims[1].but && slices.ContainsFunc(g.dims[1].items, func(r string) bool { return globCovers(r, "arn:aws:iam::*:role/*") })
		for _, action := range slices.Concat(escalatingActions, escalatingOnAll) {
			budget := maxCompared
			allows := policyMeasures[0].coveredBy(these(action), g.dims[0], &budget)
			if allows && (all || !slices.Contains(escalatingOnAll, action)) {
				found = append(found, grant{dims: []dimension{these(action), g.dims[1], g.dims[2]}, cond: g.cond})
			}
		}
	}
	return !covered(policyMeasures, found, slices.Concat(was.allow, is.deny))
}
