package kubernetes

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// The rules that fold a field, as in FieldChange.Fold. A folded field stays
// in the report and is counted.
const (
	foldChart       = "chart label"
	foldChecksum    = "checksum"
	foldRestart     = "restart mark"
	foldServer      = "server-owned"
	foldDefault     = "default"
	foldOthers      = "owned by others"
	foldOrder       = "order"
	foldRegenerated = "regenerated"
	foldDescription = "description"
	foldRepeated    = "repeated"
)

// rule folds differences at some places.
type rule struct {
	fold string
	// at are patterns of places: keys, in which * is any key. The last one
	// may be a pattern as in package path, whose * does not match a slash
	// inside the key. A key that contains slashes is compared as a whole.
	at [][]string
	// where, if set, decides by the whole path instead, which may lead through lists.
	where func(p tree.Path) bool
	// when, if set, also checks the value.
	when func(v raw.Value) bool
	// unlessRead: a label or an annotation is not folded if something in the
	// set, or a pod of the object, may read it.
	unlessRead bool
	// words describe what it folds and why that is not relevant; source is
	// the text that it is based on.
	words, source string
}

// rules are tried in order. A label of a pod template is never noise: a
// change of it recreates the pods.
var rules = []rule{
	{
		fold: foldServer, words: "the API server writes them",
		at: [][]string{
			{"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "creationTimestamp"},
			{"metadata", "deletionTimestamp"}, {"metadata", "deletionGracePeriodSeconds"}, {"metadata", "managedFields"},
			{"metadata", "selfLink"}, {"status"},
		},
		source: "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/",
	},
	{
		fold: foldServer, words: "controllers and kubectl store their own records there",
		at: places([]string{"metadata", "annotations"},
			lastApplied, "deployment.kubernetes.io/revision-history", "control-plane.alpha.kubernetes.io/leader",
			"pv.kubernetes.io/provisioned-by", "volume.kubernetes.io/storage-provisioner",
			"volume.beta.kubernetes.io/storage-provisioner",
			"autoscaling.alpha.kubernetes.io/conditions", "autoscaling.alpha.kubernetes.io/current-metrics",
			"endpoints.kubernetes.io/last-change-trigger-time", "endpoints.kubernetes.io/over-capacity",
			"batch.kubernetes.io/job-tracking", "batch.kubernetes.io/cronjob-scheduled-timestamp"),
		source: "https://kubernetes.io/docs/reference/labels-annotations-taints/",
	},
	{
		fold: foldServer, when: stamp, words: "controllers and kubectl store counts and times there",
		at: places([]string{"metadata", "annotations"}, "kubectl.kubernetes.io/restartedAt",
			"deployment.kubernetes.io/revision",
			"deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas",
			"deprecated.daemonset.template.generation"),
		source: "https://kubernetes.io/docs/reference/labels-annotations-taints/",
	},
	{
		fold: foldChart, words: "every object of a chart names its chart and version", unlessRead: true,
		at: ownAndJobs([]string{"labels"}, "helm.sh/chart", "app.kubernetes.io/version", "app.kubernetes.io/managed-by",
			"chart", "heritage",
			"chart-version", "app.kubernetes.io/chart"),
		source: "https://helm.sh/docs/chart_best_practices/labels/",
	},
	{
		fold: foldChart, words: "Helm's own records of the release that an object belongs to",
		at:     ownAndJobs([]string{"annotations"}, "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"),
		source: "https://helm.sh/docs/helm/helm_install/",
	},
	{
		fold: foldChart, words: "generators of custom resources add their version",
		at:     places([]string{"metadata", "annotations"}, "controller-gen.kubebuilder.io/version"),
		source: "https://book.kubebuilder.io/reference/generating-crd",
	},
	{
		fold: foldChecksum, unlessRead: true,
		words: "they follow from another change; a finding states that the pods restart",
		at: slices.Concat(places([]string{"metadata", "annotations"}, checksums...), places(podAnnotations, checksums...),
			places(jobAnnotations, checksums...)),
		when:   hash,
		source: "https://helm.sh/docs/howto/charts_tips_and_tricks/#automatically-roll-deployments",
	},
	{
		fold: foldRestart, unlessRead: true, when: stamp,
		words: "they exist to restart the pods, which a finding states",
		at: places(podAnnotations, "rollme", "kubectl.kubernetes.io/restartedAt", "timestamp", "date",
			"deploy-date", "deployed-at", "deployment-timestamp", "restartedAt", "releaseTime"),
		source: "https://helm.sh/docs/howto/charts_tips_and_tricks/#automatically-roll-deployments",
	},
	{
		fold: foldDescription, words: "they explain the fields of a custom resource, and generators wrap their lines " +
			"differently",
		where: described, when: isText,
		source: "https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/",
	},
}

// described reports whether a path leads to the description of a field in the
// schema of a custom resource, and not to a field or a default with that name.
func described(p tree.Path) bool {
	if len(p) == 0 || p[len(p)-1].Key != "description" {
		return false
	}
	at, ok := placeIn(p)
	return ok && len(at.rest) == 1
}

func isText(v raw.Value) bool { _, ok := raw.String(v); return ok }

var (
	podAnnotations = []string{"spec", "template", "metadata", "annotations"}
	jobAnnotations = []string{"spec", "jobTemplate", "spec", "template", "metadata", "annotations"}
)

var checksums = []string{"checksum/*", "checksum.*", "checksum-*", "checksum", "*-checksum", "*/checksum",
	"*/checksum-*", "*/*-checksum", "*-hash", "*/config-hash", "*.hash"}

// places returns the paths of the keys below a path.
func places(below []string, keys ...string) [][]string {
	out := make([][]string, len(keys))
	for i, k := range keys {
		out[i] = append(below[:len(below):len(below)], k)
	}
	return out
}

// ownAndJobs returns the paths of labels or annotations of an object, and of
// the jobs that a CronJob creates.
func ownAndJobs(of []string, keys ...string) [][]string {
	own := append([]string{"metadata"}, of...)
	jobs := append([]string{"spec", "jobTemplate", "metadata"}, of...)
	return append(places(own, keys...), places(jobs, keys...)...)
}

// hash reports whether a value looks like a hash: long enough hex or digits,
// or longer base64, with a digit. A word does not.
func hash(v raw.Value) bool {
	text, ok := raw.String(v)
	return ok && strings.ContainsAny(text, digits) && (hashText(text) || hashText(withoutAlgorithm(text)))
}

const digits = "0123456789"

func hashText(s string) bool {
	consistsOf := func(set string) bool { return strings.Trim(s, set) == "" }
	return len(s) <= 128 && (len(s) >= 6 && (consistsOf(digits+"abcdef") || consistsOf(digits+"ABCDEF")) ||
		len(s) >= 20 && consistsOf(digits+"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/_=-"))
}

// withoutAlgorithm returns a text without a prefix as sha256: or sha1-.
func withoutAlgorithm(text string) string {
	if number, ok := strings.CutPrefix(text, "sha"); ok {
		if sum := strings.TrimLeft(number, digits); len(sum) < len(number) && sum != "" && (sum[0] == ':' || sum[0] == '-') {
			return sum[1:]
		}
	}
	return text
}

// stamp reports whether a value looks like a time, a number or a random text,
// and like nothing that has an effect.
func stamp(v raw.Value) bool {
	text, kind := raw.Text(v)
	first, _, _ := strings.Cut(text, " ")
	return kind == "number" || kind == "string" && len(first) <= maxStampWord && stampLike().MatchString(text)
}

// maxStampWord is the length of the longest first word of a stamp. In the expression it would be forty
// copies of a character.
const maxStampWord = 40

var stampLike = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9A-Za-z:.+-]+( [0-9:.+-]+)*( [A-Z]{1,5})?( m=\+[0-9.]+)?$`)
})

// foldOf returns the rule that folds a difference, if any.
func foldOf(d *difference) string {
	if d.fold != "" || len(d.path) == 0 {
		return d.fold
	}
	keys, plain := keysOf(d.path)
	for i := range rules {
		if rules[i].folds(keys, plain, d) {
			return rules[i].fold
		}
	}
	// An object without a namespace is in that of the release: with any other
	// namespace, the two would not correspond.
	if plain && len(keys) == 2 && keys[0] == "metadata" && keys[1] == "namespace" || defaulted(d) || assumes(d) {
		return foldDefault
	}
	return ""
}

// keysOf returns the keys of a path, and whether it consists only of keys.
func keysOf(p tree.Path) ([]string, bool) {
	for _, s := range p {
		if s.IsIndex || s.IsSelect || s.Into() != "" {
			return nil, false
		}
	}
	keys := make([]string, len(p))
	for i, s := range p {
		keys[i] = s.Key
	}
	return keys, true
}

func (r *rule) folds(keys []string, plain bool, d *difference) bool {
	found := r.where != nil && r.where(d.path)
	for i := 0; plain && !found && i < len(r.at); i++ {
		found = matches(r.at[i], keys)
	}
	if !found || r.unlessRead && (d.read || d.used.reads(keys[len(keys)-1])) || d.authored && keys[0] == "status" {
		return false
	}
	for _, v := range d.values() {
		if r.when != nil && !r.when(v) {
			return false
		}
	}
	return true
}

// matches compares keys with a pattern. Everything below a matching place matches too.
func matches(pattern, keys []string) bool {
	if len(keys) < len(pattern) {
		return false
	}
	for i, want := range pattern {
		if ok, err := path.Match(want, keys[i]); want != keys[i] && (err != nil || !ok) {
			return false
		}
	}
	return len(keys) == len(pattern) || pattern[0] == "status" || pattern[len(pattern)-1] == "managedFields"
}

// defaulted reports whether one side omits what the other sets to its default.
// Omitted replicas do not count: an autoscaler may have set another number.
func defaulted(d *difference) bool {
	if d.hasBefore == d.hasAfter || d.typ == nil {
		return false
	}
	v := d.after
	if d.hasBefore {
		v = d.before
	}
	last := d.path[len(d.path)-1]
	if v.IsNull() || last.IsIndex || last.IsSelect || last.Key == "replicas" && !d.hasBefore {
		return false
	}
	return d.typ.IsDefault(v, d.parent) && (d.was == d.typ || d.was.IsDefault(v, d.parent)) || d.builtin && empty(d.typ, v)
}

// empty reports whether a value is a list or a map without elements, which the API does not
// store. An empty object with named fields has a meaning: emptyDir: {} is a kind of volume.
func empty(t *schema.Type, v raw.Value) bool {
	if v.IsList() {
		return v.Len() == 0
	}
	return t.Shape() == schema.Map && v.IsObject() && len(v.Fields()) == 0
}
