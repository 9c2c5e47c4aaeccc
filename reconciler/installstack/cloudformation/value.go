package cloudformation

import (
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// object and list are JSON of a template.
type (
	object = map[string]any
	list   = []any
)

func ref(id string) object { return object{"Ref": id} }

func attribute(id, name string) object { return object{"Fn::GetAtt": list{id, name}} }

func join(parts ...any) object { return object{"Fn::Join": list{"", parts}} }

func ifElse(condition string, yes, no any) object { return object{"Fn::If": list{condition, yes, no}} }

func equals(a, b any) object { return object{"Fn::Equals": list{a, b}} }

func not(condition any) object { return object{"Fn::Not": list{condition}} }

// pseudo are the pseudo parameters for placeholders.
var pseudo = map[installstack.Placeholder]string{
	installstack.Region: "AWS::Region", installstack.Account: "AWS::AccountId",
}

// text returns a text as a value. It never uses Fn::Sub, so that ${} in a text stays what it is.
func text(s string) any {
	parts := installstack.Split(s)
	values := make(list, 0, len(parts))
	plain := true
	for _, part := range parts {
		if part.Placeholder == installstack.NoPlaceholder {
			values = append(values, part.Text)
			continue
		}
		plain = false
		values = append(values, ref(pseudo[part.Placeholder]))
	}
	if plain {
		return s
	}
	return join(values...)
}

// document returns a policy document with the placeholders in its texts replaced.
func document(v any) any {
	switch v := v.(type) {
	case string:
		return text(v)
	case []any:
		all := make(list, len(v))
		for i := range v {
			all[i] = document(v[i])
		}
		return all
	case map[string]any:
		all := object{}
		for key, item := range v {
			all[key] = document(item)
		}
		return all
	}
	return v
}

// arn returns an ARN of IAM in the partition of the stack.
func arn(account any, resource string) object {
	return join("arn:", ref("AWS::Partition"), ":iam::", account, ":"+resource)
}

// shellQuote returns a word for a shell.
func shellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
