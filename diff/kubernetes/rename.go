package kubernetes

import (
	"encoding/binary"
	"hash/fnv"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// A new object replaces an old one of the same kind if the share of leaves
// (and of the lines of long strings) that both have, between 0 and 1, reaches
// one of these limits. The lower one applies to names that differ only in a
// version or a hash at the end: then both are almost certainly the same thing.
const (
	alikeSameStem = 0.3
	alikeOther    = 0.8
	// maxCompared bounds how many pairs of one kind are compared, those with
	// a common name stem first, and maxLeaves how much of one object.
	maxCompared = 10_000
	maxLeaves   = 4_000
)

// noRename are kinds whose objects are never treated as renamed: their content
// is lost with them. The API's own kinds not listed here can be renamed; for
// other kinds this is unknown, so they are never treated as renamed either.
var noRename = map[string]bool{
	"PersistentVolumeClaim": true, "PersistentVolume": true, "Namespace": true, "CustomResourceDefinition": true,
	"StatefulSet": true, "StorageClass": true, "APIService": true,
}

// mayRename reports whether objects of a kind can be treated as renamed.
func mayRename(id manifest.ID) bool {
	_, builtin := schema.Builtin().Namespaced(id.Group, id.Kind)
	return builtin && !noRename[id.Kind]
}

// candidate is an object that is only on one side.
type candidate struct {
	job    int
	object *manifest.Object
	role   role
	// kept: it stays in the cluster when it is removed from the release, so nothing replaces it.
	kept bool
	// leaves are the hashes of its content, sorted.
	leaves []uint64
}

// candidateOf reads an object. It removes the object's own name from all its
// values, and leaves out what always changes with the name.
func candidateOf(job int, o *manifest.Object) (candidate, error) {
	v, err := o.Value()
	if err != nil {
		return candidate{}, err
	}
	if secretKind(o.ID) {
		v = stored(v)
	}
	c := candidate{job: job, object: o, role: roleOf(v), kept: hasKeepPolicy(v)}
	name := o.ID.Name
	var walk func(path string, v raw.Value)
	add := func(parts ...string) {
		if len(c.leaves) < maxLeaves {
			h := fnv.New64a()
			var size [4]byte
			for _, p := range parts {
				binary.LittleEndian.PutUint32(size[:], uint32(len(p)))
				_, _ = h.Write(size[:])
				_, _ = h.Write([]byte(p))
			}
			c.leaves = append(c.leaves, h.Sum64())
		}
	}
	walk = func(path string, v raw.Value) {
		switch {
		case v.IsObject():
			for _, k := range v.Keys() {
				if path == "" && (k == "metadata" || k == "status" || k == "kind" || k == "apiVersion") {
					continue
				}
				child, _ := v.Get(k)
				walk(path+"/"+k, child)
			}
		case v.IsList():
			for i := range v.Len() {
				walk(path+"/*", v.At(i))
			}
		default:
			text, kind := raw.Text(v)
			add("path", path)
			for line := range strings.Lines(text) {
				if len(name) >= minOwnName {
					line = strings.ReplaceAll(line, name, "\x00")
				}
				add(kind, path, line)
			}
		}
	}
	walk("", v)
	slices.Sort(c.leaves)
	return c, nil
}

const minOwnName = 3

// alike returns the share of leaves that two objects have in common.
func alike(a, b []uint64) float64 {
	if len(a)+len(b) == 0 {
		return 1
	}
	common := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			common, i, j = common+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b))
}

// stem returns a name without a version, a revision or a hash at its end.
func stem(name string) string {
	for range 3 {
		cut := ending().ReplaceAllString(name, "")
		if cut == "" || cut == name {
			break
		}
		name = cut
	}
	return name
}

// ending matches -v1, -1.2.3, -20261121, and -abc12 with a digit in it.
var ending = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`[-.](v?\d+([.-]\d+)*|[0-9a-z]{0,9}[0-9][0-9a-z]{0,40}|[bcdfghjklmnpqrstvwxz2456789]{5,10})$`)
})

type likeness struct {
	gone, new int
	score     float64
}

// renames finds, among the objects of one kind that are only on one side, the pairs
// of a removed and a new one that replaces it. Each object is in at most one pair.
func renames(gone, created []candidate) map[int]int {
	pairs := likenesses(gone, created)
	sort.SliceStable(pairs, func(i, j int) bool { return pairs[i].score > pairs[j].score })
	takenGone, takenNew := map[int]bool{}, map[int]bool{}
	out := map[int]int{}
	for _, p := range pairs {
		if !takenGone[p.gone] && !takenNew[p.new] {
			takenGone[p.gone], takenNew[p.new] = true, true
			out[created[p.new].job] = gone[p.gone].job
		}
	}
	return out
}

func likenesses(gone, created []candidate) []likeness {
	var out []likeness
	byStem := map[string][]int{}
	for i := range gone {
		s := stem(gone[i].object.ID.Name)
		byStem[s] = append(byStem[s], i)
	}
	budget := maxCompared
	compare := func(i, j int, enough, bonus float64) {
		// What a hook created stays when the hook is removed, so only a new
		// version of it counts as the same.
		is := created[j].role
		if gone[i].kept || gone[i].role != is || is == hook && bonus == 0 {
			return
		}
		if score := alike(gone[i].leaves, created[j].leaves); score >= enough {
			out = append(out, likeness{gone: i, new: j, score: score + bonus})
		}
	}
	for j := range created {
		for _, i := range byStem[stem(created[j].object.ID.Name)] {
			if budget--; budget < 0 {
				return out
			}
			compare(i, j, alikeSameStem, 1)
		}
	}
	if len(gone)*len(created) <= budget {
		for i := range gone {
			for j := range created {
				compare(i, j, alikeOther, 0)
			}
		}
	}
	return out
}
