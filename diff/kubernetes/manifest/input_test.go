package manifest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// crd returns a custom resource definition with a schema of about the given
// number of lines, in the style of generators.
func crd(name string, lines int, random *rand.Rand) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b,
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: %s.example.com\n  "+
			"annotations:\n    note: 'some text'\nspec:\n", name)
	fmt.Fprintf(&b, "  group: example.com\n  names:\n    kind: %s\n    plural: %ss\n  scope: Namespaced\n  versions:\n  "+
		"- name: v1\n    "+
		"served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n",
		name, name)
	w := &schemaWriter{b: &b, random: random, left: lines}
	for w.left > 0 {
		w.property(10, 0)
	}
	return b.Bytes()
}

type schemaWriter struct {
	b      *bytes.Buffer
	random *rand.Rand
	left   int
	n      int
}

func (w *schemaWriter) property(indent, depth int) {
	pad := strings.Repeat(" ", indent)
	w.n++
	fmt.Fprintf(w.b, "%sproperty%d:\n", pad, w.n)
	pad += "  "
	switch w.random.IntN(4) {
	case 0:
		fmt.Fprintf(w.b, "%sdescription: |-\n%s  %s\n%s  %s\n\n%s  %s\n", pad, pad, w.words(9), pad, w.words(8), pad,
			w.words(4))
		w.left -= 5
	case 1:
		fmt.Fprintf(w.b, "%sdescription: '%s\n%s  %s. Don''t: %s'\n", pad, w.words(9), pad, w.words(7), w.words(2))
		w.left -= 2
	case 2:
		fmt.Fprintf(w.b, "%sdescription: %s\n%s  %s\n", pad, w.words(9), pad, w.words(7))
		w.left -= 2
	default:
		fmt.Fprintf(w.b, "%sdescription: %s\n", pad, w.words(7))
		w.left--
	}
	if depth < 5 && w.random.IntN(3) == 0 {
		fmt.Fprintf(w.b, "%stype: object\n%sproperties:\n", pad, pad)
		for range 2 + w.random.IntN(5) {
			w.property(indent+4, depth+1)
		}
		fmt.Fprintf(w.b, "%srequired:\n%s- property%d\n", pad, pad, w.n)
		w.left -= 5
		return
	}
	fmt.Fprintf(w.b, "%stype: string\n", pad)
	w.left -= 2
}

func (w *schemaWriter) words(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = dictionary[w.random.IntN(len(dictionary))]
	}
	return strings.Join(list, " ")
}

var dictionary = strings.Fields("the name of a field that is set when more than one resource refers to it " +
	"and no other value has been given by its owner")

// touched changes a share of the lines of a text.
func touched(data []byte, share float64, random *rand.Rand) []byte {
	lines := strings.SplitAfter(string(data), "\n")
	for i, l := range lines {
		if random.Float64() < share && strings.HasSuffix(l, "e\n") && i > 10 {
			lines[i] = strings.TrimSuffix(l, "\n") + " now\n"
		}
	}
	return []byte(strings.Join(lines, ""))
}
