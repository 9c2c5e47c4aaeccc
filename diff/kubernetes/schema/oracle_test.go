package schema

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// TestDefaultsAreThoseOfTheServer compares with testdata/defaulted.json:
// small objects, and the result of the defaulting and conversion code of
// Kubernetes v1.36.3 (see testdata/server). Everything that the server added
// must be a default here, and nothing with a meaning may be dropped.
func TestDefaultsAreThoseOfTheServer(t *testing.T) {
	data, err := os.ReadFile("testdata/defaulted.json")
	if err != nil {
		t.Fatal(err)
	}
	pairs := parse(t, string(data))
	added := 0
	for i := range pairs.Len() {
		before, after := at(pairs.At(i), "sent"), at(pairs.At(i), "made")
		s := server{t: t, kind: text(before, "apiVersion") + "/" + text(before, "kind"), added: &added}
		s.walk("", root(t, Builtin(), s.kind), before, after)
	}
	if pairs.Len() < 60 || added < 300 {
		t.Errorf("%d objects with %d defaults: too few", pairs.Len(), added)
	}
}

// beyond are values that the server derives from another part of the object
// than the field's parent. diff/kubernetes has rules for them.
var beyond = []string{
	"v1/ReplicationController.metadata.labels", // those of the template
	"batch/v1/Job.metadata.labels",
	"v1/Namespace.metadata.labels",           // kubernetes.io/metadata.name
	"apps/v1/DaemonSet.metadata.annotations", // deprecated.daemonset.template.generation
}

// server compares what was sent with what the server returned.
type server struct {
	t     *testing.T
	kind  string
	added *int
}

func (s server) walk(path string, typ *Type, before, after raw.Value) {
	for _, key := range after.Keys() {
		is, _ := after.Get(key)
		was, ok := before.Get(key)
		if ok {
			s.walk(path+"."+key, typ.Field(key), was, is)
			continue
		}
		*s.added++
		if slices.Contains(beyond, s.kind+path+"."+key) {
			continue
		}
		if !typ.Field(key).IsDefault(is, before) {
			text, _ := raw.Text(is)
			s.t.Errorf("%s %s.%s: the server takes %s", s.kind, path, key, text)
		}
	}
	for _, key := range before.Keys() {
		was, _ := before.Get(key)
		if _, ok := after.Get(key); !ok && !typ.Field(key).IsDefault(was, after) {
			s.t.Errorf("%s %s.%s: the server drops it", s.kind, path, key)
		}
	}
	for i := range min(before.Len(), after.Len()) {
		s.walk(path+"[]", typ.Elem(), before.At(i), after.At(i))
	}
	if !before.IsObject() && !before.IsList() && !Equal(typ, before, after) {
		s.t.Errorf("%s %s: not equal to what the server makes of it", s.kind, path)
	}
}

func root(t *testing.T, s *Set, kind string) *Type {
	t.Helper()
	group, version, name := split(kind)
	typ := s.Find(group, version, name)
	if typ == nil {
		t.Fatalf("kind %s is not known", kind)
	}
	return typ
}

// split splits GROUP/VERSION/KIND; the core group is omitted.
func split(kind string) (group, version, name string) {
	parts := strings.Split(kind, "/")
	if len(parts) == 2 {
		return "", parts[0], parts[1]
	}
	return parts[0], parts[1], parts[2]
}
