package manifest

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"testing"
)

func sides() (before, after []byte) {
	random := rand.New(rand.NewPCG(1, 2))
	var a, b bytes.Buffer
	for i := range 12 {
		data := crd("Thing"+strconv.Itoa(i), 4000, random)
		a.WriteString("---\n")
		a.Write(data)
		b.WriteString("---\n")
		b.Write(touched(data, 0.15, random))
	}
	return a.Bytes(), b.Bytes()
}

func BenchmarkRead(b *testing.B) {
	before, _ := sides()
	b.SetBytes(int64(len(before)))
	for b.Loop() {
		if _, err := Read([]Source{{Name: "a", Data: before}}, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOutline(b *testing.B) {
	before, _ := sides()
	s, err := Read([]Source{{Name: "a", Data: before}}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(before)))
	for b.Loop() {
		for _, o := range s.Objects {
			if _, ok := outline(o.text.data); !ok {
				b.Fatal("refused")
			}
		}
	}
}

func BenchmarkValue(b *testing.B) {
	before, _ := sides()
	s, err := Read([]Source{{Name: "a", Data: before}}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(before)))
	for b.Loop() {
		for _, o := range s.Objects {
			if _, err := o.Value(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkPair(b *testing.B) {
	before, after := sides()
	x, err := Read([]Source{{Name: "a", Data: before}}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	y, err := Read([]Source{{Name: "b", Data: after}}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(before) + len(after)))
	b.ReportAllocs()
	for b.Loop() {
		for i, o := range x.Objects {
			_, _, partial, err := Pair(o, y.Objects[i])
			if err != nil || !partial {
				b.Fatal(partial, err)
			}
		}
	}
}

func BenchmarkWhole(b *testing.B) {
	before, after := sides()
	x, err := Read([]Source{{Name: "a", Data: before}}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	y, err := Read([]Source{{Name: "b", Data: after}}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(before) + len(after)))
	for b.Loop() {
		for i, o := range x.Objects {
			if _, _, err := Whole(o, y.Objects[i]); err != nil {
				b.Fatal(err)
			}
		}
	}
}
