package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The inputs are the same in each run: the only randomness comes from generators with fixed seeds.
func chance(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 5)) }

// crds returns 59 objects of about 1.9 MB: 12 custom resource definitions with huge schemas, and 47
// small objects. About 5 % of the lines differ in the second version.
func crds(version int) []byte {
	w := &crdWriter{shape: chance(1), edits: chance(2), changed: version > 1}
	for i := range 12 {
		w.definition(i)
	}
	for i := range 47 {
		fmt.Fprintf(&w.out, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: "+
			"operator-%d\n"+
			"  labels:\n    app: operator\nrules:\n- apiGroups:\n  - example.com\n  resources:\n  - kind%ds\n  verbs:\n  - "+
			"get\n  - list\n", i, i)
	}
	return []byte(w.out.String())
}

// crdWriter writes schemas in the style of controller-gen. One random source defines the shape and
// another one the edits, so that both versions have the same shape.
type crdWriter struct {
	out          strings.Builder
	shape, edits *rand.Rand
	changed      bool
	properties   int
	lines        int // of schemas, approximately
}

const crdLines = 1560

func (w *crdWriter) definition(n int) {
	fmt.Fprintf(&w.out, "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  "+
		"annotations:\n"+
		"    controller-gen.kubebuilder.io/version: v0.16.%d\n  name: kind%ds.example.com\nspec:\n  group: example.com\n  "+
		"names:\n    kind: Kind%d\n"+
		"    listKind: Kind%dList\n    plural: kind%ds\n    singular: kind%d\n  scope: Namespaced\n  versions:\n  - name: "+
		"v1\n    schema:\n"+
		"      openAPIV3Schema:\n        properties:\n", n, n, n, n, n, n)
	for start := w.lines; w.lines-start < crdLines; {
		w.property(10, 0)
	}
	w.out.WriteString("        type: object\n    served: true\n    storage: true\n    subresources:\n      status: {}\n")
}

// property writes one property with a description of one to four lines, and perhaps with nested
// properties.
func (w *crdWriter) property(indent, depth int) {
	pad := strings.Repeat(" ", indent)
	w.properties++
	w.lines += 4
	fmt.Fprintf(&w.out, "%sproperty%d:\n", pad, w.properties)
	pad += "  "
	if lines := 1 + w.shape.IntN(4); lines > 1 {
		w.out.WriteString(pad + "description: |-\n")
		for range lines {
			w.line(pad + "  ")
		}
	} else {
		w.line(pad + "description: ")
	}
	if depth < 6 && w.shape.IntN(3) == 0 {
		w.out.WriteString(pad + "properties:\n")
		for range 2 + w.shape.IntN(5) {
			w.property(indent+4, depth+1)
		}
		fmt.Fprintf(&w.out, "%srequired:\n%s- property%d\n%stype: object\n", pad, pad, w.properties, pad)
		return
	}
	limit := 16 + w.shape.IntN(200)
	if w.changes() {
		limit *= 2
	}
	fmt.Fprintf(&w.out, "%smaxLength: %d\n%stype: string\n", pad, limit, pad)
}

// changes reports whether a line differs in the second version. It is called for six lines in ten.
func (w *crdWriter) changes() bool { return w.edits.IntN(9) == 0 && w.changed }

// line writes one line of a description.
func (w *crdWriter) line(prefix string) {
	words := make([]string, 6+w.shape.IntN(6))
	for i := range words {
		words[i] = dictionary[w.shape.IntN(len(dictionary))]
	}
	if w.changes() {
		words[len(words)/2] = "newly"
	}
	w.out.WriteString(prefix + strings.Join(words, " ") + "\n")
}

var dictionary = strings.Fields("the name of a field that is set when more than one resource refers to it " +
	"and no other value has been given by its owner")
