package configfetch

import (
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

func TestFindInHostileObjects(t *testing.T) {
	hash := func(s string) plumbing.Hash { return plumbing.ComputeHash(plumbing.BlobObject, []byte(s)) }
	objects := map[plumbing.Hash]object{
		hash("loop"):      {kind: plumbing.TagObject, data: []byte("object " + hash("loop").String() + "\n")},
		hash("blob"):      {kind: plumbing.BlobObject, data: []byte("x")},
		hash("bare"):      {kind: plumbing.CommitObject, data: []byte("nothing")},
		hash("leads"):     {kind: plumbing.CommitObject, data: []byte("tree " + hash("blob").String() + "\n")},
		hash("cut"):       {kind: plumbing.CommitObject, data: []byte("tree " + hash("cut tree").String() + "\n")},
		hash("cut tree"):  {kind: plumbing.TreeObject, data: []byte("100644 a\x00short")},
		hash("odd"):       {kind: plumbing.CommitObject, data: []byte("tree " + hash("odd tree").String() + "\n")},
		hash("odd tree"):  {kind: plumbing.TreeObject, data: []byte("777 a\x00" + strings.Repeat("x", 20))},
		hash("self"):      {kind: plumbing.CommitObject, data: []byte("tree " + hash("self tree").String() + "\n")},
		hash("self tree"): {kind: plumbing.TreeObject, data: append([]byte("40000 a\x00"), selfHash()...)},
	}
	for _, from := range []string{"loop", "blob", "bare", "leads", "cut", "odd", "absent"} {
		if at, err := findBlob(objects, hash(from), "a"); err == nil {
			t.Errorf("%s: found %s", from, at)
		}
	}
	if _, err := findBlob(objects, hash("self"), strings.Repeat("a/", 500)+"a"); err == nil {
		t.Error("a directory in itself has a file")
	}
}

func selfHash() []byte {
	hash := plumbing.ComputeHash(plumbing.BlobObject, []byte("self tree"))
	return hash[:]
}
