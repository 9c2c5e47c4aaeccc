package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/source"
)

// The rules are those of the grammar of the IAM policy language for policies of a role: they report
// what AWS rejects as malformed.

// checkAWS checks an identity policy.
func (c checker) checkAWS(document *value) {
	c.checkForbiddenNames(document, "a policy document", []string{"Version", "Id", "Statement"})
	if v := document.get("Version"); v != nil && !v.hasPlaceholder() &&
		(v.kind != '"' || v.text != "2012-10-17" && v.text != "2008-10-17") {
		c.reportValue(v, "iam-version", "there is no version "+source.Plain(c.Bytes[v.offset:v.end])+
			" of the policy language", `write "2012-10-17"`)
	}
	statements := document.get("Statement")
	switch {
	case statements == nil:
		if c.hasSimilarName(document, "Statement") {
			return
		}
		c.reportValue(document, "iam-missing", "the document has no Statement", `add "Statement": [ … ]`)
	case statements.hasPlaceholder():
	case statements.kind == '{':
		c.checkStatement(statements, map[string]bool{})
	case statements.kind != '[':
		c.reportValue(statements, "iam-shape",
			"Statement must be an object or a list of objects, and is "+kindOf(statements), "write it as [ … ]")
	case len(statements.items) == 0:
		// AWS rejects an empty list. People write it in apps for other clouds, where nothing reads
		// it.
		c.Warning(statements.offset, 2, "iam-missing", "Statement is empty: AWS refuses such a policy",
			"add a statement; a boundary that should not be there is {}")
	default:
		ids := map[string]bool{}
		for i := range statements.items {
			c.checkStatement(&statements.items[i], ids)
		}
	}
}

// hasSimilarName reports whether an object has a name, or one that is so similar that it was probably meant.
// The similar name is reported separately.
func (c checker) hasSimilarName(v *value, name string) bool {
	return slices.ContainsFunc(v.members, func(m member) bool {
		_, near := diagnostic.Nearest(m.name, []string{name})
		return near && !slices.Contains(statementKeys(), m.name) || strings.EqualFold(m.name, name)
	})
}

// statementKeys returns the keys of a statement in the policy of a role.
func statementKeys() []string {
	return []string{"Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Condition"}
}

// checkForbiddenNames reports names that an object must not have. A name that differs only in capitalization is a
// warning, because AWS may accept it.
func (c checker) checkForbiddenNames(v *value, what string, known []string) {
	for i := range v.members {
		m := &v.members[i]
		if slices.Contains(known, m.name) || source.HasPlaceholder(m.name) || m.name == "Principal" ||
			m.name == "NotPrincipal" {
			continue
		}
		same := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, m.name) })
		if same >= 0 {
			c.Warning(m.offset, c.width(m.offset, m.end), "iam-unknown-key",
				fmt.Sprintf("%s is written %s", source.Quote(m.name), known[same]), "write "+known[same])
			continue
		}
		hint := diagnostic.DidYouMean(m.name, known)
		if hint == "" {
			hint = "remove it; known are " + strings.Join(known, ", ")
		}
		c.reportName(m, "iam-unknown-key", fmt.Sprintf("%s has no key %s", what, source.Quote(m.name)), hint)
	}
}

func (c checker) checkStatement(v *value, ids map[string]bool) {
	if v.hasPlaceholder() {
		return
	}
	if v.kind != '{' {
		c.reportValue(v, "iam-shape", "a statement must be an object, and is "+kindOf(v), "write it as { … }")
		return
	}
	c.checkPrincipals(v)
	c.checkForbiddenNames(v, "a statement", statementKeys())
	c.checkID(v.get("Sid"), ids)
	c.checkEffect(v)
	c.requireExactlyOne(v, "Action", "NotAction")
	c.requireExactlyOne(v, "Resource", "NotResource")
	for _, name := range []string{"Action", "NotAction"} {
		c.eachString(v.get(name), name, c.checkAction)
	}
	for _, name := range []string{"Resource", "NotResource"} {
		c.eachString(v.get(name), name, c.checkResource)
	}
	c.checkCondition(v.get("Condition"))
}

func (c checker) checkPrincipals(v *value) {
	for i := range v.members {
		if m := &v.members[i]; m.name == "Principal" || m.name == "NotPrincipal" {
			c.reportName(m, "iam-principal",
				m.name+" has no place in the policy of a role: the role is who acts", "remove "+m.name)
		}
	}
}

func (c checker) checkID(v *value, ids map[string]bool) {
	switch {
	case v == nil || v.hasPlaceholder():
		return
	case v.kind != '"':
		c.reportValue(v, "iam-sid", "Sid must be a text, and is "+kindOf(v), "put it in quotes")
		return
	}
	for _, r := range v.text {
		if r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' {
			c.reportValue(v, "iam-sid", fmt.Sprintf("the Sid %s has %q in it, and may have only letters and digits",
				source.Quote(v.text), r), "write only A-Z, a-z and 0-9")
			return
		}
	}
	if ids[v.text] && v.text != "" {
		c.reportValue(v, "iam-sid", "another statement has the Sid "+source.Quote(v.text)+", too",
			"give each statement a Sid of its own, or none")
	}
	ids[v.text] = true
}

func (c checker) checkEffect(v *value) {
	effect := v.get("Effect")
	switch {
	case effect == nil && !c.hasSimilarName(v, "Effect"):
		c.reportValue(v, "iam-missing", "a statement without Effect", `add "Effect": "Allow"`)
	case effect == nil || effect.hasPlaceholder():
	case effect.kind != '"' || effect.text != "Allow" && effect.text != "Deny":
		c.reportValue(effect, "iam-effect", "Effect must be Allow or Deny, written like this", `write "Allow" or "Deny"`)
	}
}

// requireExactlyOne requires exactly one of two names.
func (c checker) requireExactlyOne(v *value, name, not string) {
	switch one, other := c.hasSimilarName(v, name), c.hasSimilarName(v, not); {
	case one && other:
		c.reportValue(v, "iam-statement", fmt.Sprintf("a statement with %s and %s", name, not), "make two statements of it")
	case !one && !other:
		c.reportValue(v, "iam-missing", fmt.Sprintf("a statement without %s", name), fmt.Sprintf("add %s, or %s", name, not))
	}
}

// eachString calls check for the string, or for each string of the list.
func (c checker) eachString(v *value, name string, check func(v *value)) {
	switch {
	case v == nil || v.hasPlaceholder():
	case v.kind == '"':
		check(v)
	case v.kind != '[':
		c.reportValue(v, "iam-shape", fmt.Sprintf("%s must be a text or a list of texts, and is %s", name,
			kindOf(v)), "write it as [ … ]")
	case len(v.items) == 0:
		c.reportValue(v, "iam-missing", name+" is empty", "name at least one, or remove the statement")
	default:
		for i := range v.items {
			item := &v.items[i]
			if item.kind != '"' {
				c.reportValue(item, "iam-shape",
					fmt.Sprintf("an entry of %s must be a text, and is %s", name, kindOf(item)), "put it in quotes")
			} else if !item.hasPlaceholder() {
				check(item)
			}
		}
	}
}

func (c checker) checkAction(v *value) {
	service, action, ok := strings.Cut(v.text, ":")
	if v.text == "*" || ok && service != "" && action != "" {
		return
	}
	c.reportValue(v, "iam-action", fmt.Sprintf("%s is no action: an action is service:Name", source.Quote(v.text)),
		`write it as "s3:GetObject", "s3:*" or "*"`)
}

func (c checker) checkResource(v *value) {
	if strings.HasPrefix(v.text, "*") || strings.HasPrefix(v.text, "arn:") || strings.HasPrefix(v.text, "${") {
		return
	}
	c.reportValue(v, "iam-resource", fmt.Sprintf("%s is no resource: a resource is an ARN or *", source.Quote(v.text)),
		`write it as "arn:aws:…" or "*"`)
}

// operators returns the condition operators, without ForAnyValue:, ForAllValues: and IfExists.
func operators() []string {
	return []string{
		"StringEquals", "StringNotEquals", "StringEqualsIgnoreCase", "StringNotEqualsIgnoreCase", "StringLike",
		"StringNotLike", "NumericEquals", "NumericNotEquals", "NumericLessThan", "NumericLessThanEquals",
		"NumericGreaterThan", "NumericGreaterThanEquals", "DateEquals", "DateNotEquals", "DateLessThan",
		"DateLessThanEquals", "DateGreaterThan", "DateGreaterThanEquals", "Bool", "BinaryEquals", "IpAddress",
		"NotIpAddress", "ArnEquals", "ArnLike", "ArnNotEquals", "ArnNotLike", "Null",
	}
}

func (c checker) checkCondition(v *value) {
	if v == nil || v.hasPlaceholder() {
		return
	}
	if v.kind != '{' {
		c.reportValue(v, "iam-shape", "Condition must be an object, and is "+kindOf(v),
			`write it as { "StringEquals": { … } }`)
		return
	}
	for i := range v.members {
		m := &v.members[i]
		c.checkOperator(m)
		if m.value.kind != '{' && !m.value.hasPlaceholder() {
			c.reportValue(&m.value, "iam-shape", "a condition must be an object of keys and values, and is "+kindOf(&m.value),
				`write it as { "aws:RequestTag/name": "value" }`)
		}
		for j := range m.value.members {
			c.checkConditionValue(&m.value.members[j].value)
		}
	}
}

func (c checker) checkConditionValue(v *value) {
	for i := range v.items {
		if item := &v.items[i]; item.kind == '{' || item.kind == '[' || item.kind == 'n' {
			c.reportValue(item, "iam-shape",
				"an entry of a condition's values must be a text, a number, or true or false, and is "+kindOf(item),
				"put it in quotes")
		}
	}
	if v.kind == '{' || v.kind == 'n' {
		c.reportValue(v, "iam-shape", "a condition's value must be a text or a list of texts, and is "+kindOf(v),
			"put it in quotes")
	}
}

func (c checker) checkOperator(m *member) {
	if source.HasPlaceholder(m.name) {
		return
	}
	name := m.name
	for _, prefix := range []string{"ForAllValues:", "ForAnyValue:"} {
		if len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			name = name[len(prefix):]
		}
	}
	if end := len(name) - len("IfExists"); end > 0 && strings.EqualFold(name[end:], "IfExists") &&
		!strings.EqualFold(name, "NullIfExists") {
		name = name[:end]
	}
	known := operators()
	if slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
		return
	}
	hint := diagnostic.DidYouMean(name, known)
	if hint == "" {
		hint = "use an operator such as StringEquals, StringLike, ArnLike, IpAddress or Bool"
	}
	c.reportName(m, "iam-condition", "there is no condition operator "+source.Quote(m.name), hint)
}
