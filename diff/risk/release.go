package risk

import (
	"math/big"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// releaseAttributes returns the rules about chart releases. A plan does not show what a chart
// renders from its values.
func releaseAttributes() []attribute {
	return []attribute{
		{
			name:    "release-source",
			source:  "https://helm.sh/docs/topics/provenance/",
			kinds:   []string{"helm_release"},
			paths:   []string{"repository", "chart"},
			test:    differ(),
			message: "the release is made from another chart, or from another place",
		},
		{
			name:    "release-unverified",
			source:  "https://helm.sh/docs/topics/provenance/",
			kinds:   []string{"helm_release"},
			paths:   []string{"verify"},
			test:    turnsOff(),
			message: "the chart's signature is no longer checked",
		},
		{
			name:   "manifest-unreadable",
			source: "https://registry.terraform.io/providers/gavinbunny/kubectl/latest/docs/resources/kubectl_manifest",
			kinds:  []string{"kubectl_manifest"},
			paths:  []string{"yaml_body"},
			test: test{
				when: "it differs, and is not one document of plain YAML", actions: actionsPresent,
				strong: `{"yaml_body": "a: b"}`, weak: `{"yaml_body": "a: !!binary b"}`,
				object: func(l subjectView) bool {
					_, ok := readDocument(get(l.after, "yaml_body"))
					return !ok && !get(l.before, "yaml_body").Equal(get(l.after, "yaml_body"))
				},
			},
			message: "the manifest cannot be read, so no rule judges the object in it",
		},
		{
			name:   "manifest-hidden",
			source: "https://registry.terraform.io/providers/gavinbunny/kubectl/latest/docs/resources/kubectl_manifest#sensitive-fields",
			kinds:  []string{"kubectl_manifest"},
			paths:  []string{"yaml_body", "sensitive_fields"},
			test: test{
				when: "fields of an object that is no Secret are hidden by name, and it differs", actions: actionsPresent,
				strong: `{"yaml_body": "kind: Pod\na: b\n", "sensitive_fields": []}`,
				weak:   `{"yaml_body": "kind: Pod\na: c\n", "sensitive_fields": ["spec"]}`,
				object: func(l subjectView) bool {
					doc, _ := readDocument(get(l.after, "yaml_body"))
					return get(l.after, "sensitive_fields").Len() > 0 && text(get(doc, "kind")) != "Secret"
				},
			},
			message: "fields of the object are hidden on purpose, so a plan does not show what changes in them",
		},
		{
			name:   "release-values",
			source: k8sDocs + "concepts/security/pod-security-standards/",
			kinds:  []string{"helm_release"},
			paths:  releaseValues,
			test: test{
				when: "a value that has the name of a setting of pods asks for the node (privileged, hostNetwork, hostPID, " +
					"hostIPC, hostPath, " +
					"allowPrivilegeEscalation, runAsUser 0, more capabilities), removes such a setting with null, or cannot be read",
				actions: actionsPresent, strong: `{"values": ["a: {privileged: false}"]}`,
				weak:   `{"values": ["a: {privileged: true}"]}`,
				object: func(l subjectView) bool { return hasNew(riskyValues(l.before), riskyValues(l.after)) },
			},
			message: "values of the chart request rights on the node, or cannot be read",
		},
		{
			name:    "release-postrender",
			source:  "https://helm.sh/docs/topics/advanced/#post-rendering",
			kinds:   []string{"helm_release"},
			paths:   []string{"postrender"},
			test:    adds(),
			message: "a program on the machine of Terraform changes all objects of the chart before they are applied",
		},
		{
			name:    "release-write-only",
			source:  "https://registry.terraform.io/providers/hashicorp/helm/latest/docs/resources/release#set_wo",
			kinds:   []string{"helm_release"},
			paths:   []string{"set_wo_revision", "set_wo"},
			test:    adds(),
			message: "values of the chart change that no plan has, so no rule judges them",
		},
	}
}

// releaseValues lists the attributes of a release that hold chart values.
var releaseValues = []string{"values", "set", "set_list", "set_sensitive"}

// riskyValues returns the values of a release, with their places, that have the names of settings
// with which pods get rights on the node.
func riskyValues(release raw.Value) map[string]bool {
	out := map[string]bool{}
	for _, v := range oneOrMore(get(release, "values")) {
		if doc, ok := readDocument(v); ok {
			risky("", "", doc, maxSearch, out)
		} else {
			out["cannot be read: "+text(v)] = true
		}
	}
	for _, s := range slices.Concat(oneOrMore(get(release, "set")), oneOrMore(get(release, "set_sensitive"))) {
		for i, one := range splitSet(text(get(s, "value"))) {
			name := text(get(s, "name"))
			if i > 0 { // Helm reads the text after a comma as another setting
				name, one, _ = strings.Cut(one, "=")
			}
			riskySetting(name, raw.Of(strings.ReplaceAll(one, `\`, "")), out)
		}
	}
	for _, s := range oneOrMore(get(release, "set_list")) {
		riskySetting(text(get(s, "name")), get(s, "value"), out)
	}
	return out
}

// splitSet splits the argument of --set at its commas, except inside lists.
func splitSet(value string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth <= 0 {
				out, start = append(out, value[start:i]), i+1
			}
		}
	}
	return append(out, value[start:])
}

// riskySetting adds the rights that a setting requests, judging by its dotted name.
func riskySetting(name string, v raw.Value, out map[string]bool) {
	steps := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(`.[]\`, r) })
	for len(steps) > 0 && strings.Trim(steps[len(steps)-1], "0123456789") == "" {
		steps = steps[:len(steps)-1] // the index in a list
	}
	key, parent := name, ""
	if n := len(steps); n > 0 {
		key = steps[n-1]
		if n > 1 {
			parent = steps[n-2]
		}
	}
	if list, isText := stringText(v); isText && strings.HasPrefix(list, "{") {
		for e := range strings.SplitSeq(strings.Trim(list, "{}"), ",") {
			risky(name, key, raw.Of(e), 0, out)
			riskyCapability(name, parent, key, raw.Of(e), out)
		}
		return
	}
	risky(name, key, v, maxSearch, out)
	riskyCapability(name, parent, key, v, out)
}

// Pod settings that grant rights when they are true, and those that limit rights unless they are
// null.
var (
	riskySwitches   = []string{"privileged", "hostnetwork", "hostpid", "hostipc", "allowprivilegeescalation"}
	retentionValues = []string{
		"securitycontext", "podsecuritycontext", "containersecuritycontext", "runasnonroot", "readonlyrootfilesystem",
		"seccompprofile", "capabilities", "allowprivilegeescalation", "privileged",
	}
)

func risky(at, key string, v raw.Value, depth int, out map[string]bool) {
	switch lower := strings.ToLower(key); {
	case v.IsNull() || text(v) == "null":
		if slices.Contains(retentionValues, lower) {
			out[at+" is removed"] = true
		}
	case slices.Contains(riskySwitches, lower):
		switch strings.ToLower(text(v)) {
		case "true", "yes", "on", "y", "t", "1":
			out[at] = true
		}
	case lower == "runasuser" || lower == "runasgroup":
		if isZero(text(v)) {
			out[at] = true
		}
	case lower == "hostpath":
		if t, _ := raw.Text(v); t != "" && t != "{}" && t != "[]" && t != "false" {
			out[at+"="+t] = true
		}
	}
	if depth == 0 {
		return
	}
	if strings.ContainsAny(text(v), "\n{") { // a template, or a document in a value
		if doc, ok := readDocument(v); ok && (doc.IsObject() || doc.IsList()) {
			risky(at, "", doc, depth-1, out)
		}
	}
	for _, k := range v.Keys() {
		child, _ := v.Get(k)
		risky(at+"."+k, k, child, depth-1, out)
		riskyCapability(at+"."+k, key, k, child, out)
	}
	for i := range v.Len() {
		risky(at, "", v.At(i), depth-1, out)
	}
}

// riskyCapability adds the capabilities that a setting grants.
func riskyCapability(at, parent, key string, v raw.Value, out map[string]bool) {
	if strings.EqualFold(parent, "capabilities") && strings.EqualFold(key, "add") {
		for _, c := range oneOrMore(v) {
			if t := text(c); t != "" {
				out[at+"="+t] = true
			}
		}
	}
}

// isZero reports whether a text is the number 0 in YAML or in Go templates: 0x0, 0o0, 00, 0.0, -0.
func isZero(text string) bool {
	if len(text) > maxQuantity || strings.Trim(text, "0123456789xXoObB+-_.eE") != "" || text == "" {
		return false
	}
	digits := strings.TrimPrefix(strings.TrimLeft(strings.ToLower(text), "+-"), "0o")
	if n, ok := new(big.Int).SetString(digits, 0); ok {
		return n.Sign() == 0
	}
	return !hugeExponent(digits) && strings.Trim(digits, "0._e+-xb") == "" && strings.Contains(digits, "0")
}
