package kubernetes

import (
	"slices"
	"sort"

	names "github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

type ref = api.ObjectRef

// groupByStage groups things by the kinds of their objects, in the order in which kinds are applied:
// definitions, then namespaces, then objects that others refer to, and webhooks last.
// All of one stage may be applied concurrently.
func groupByStage[T any](things []T, of func(T) ref) [][]T {
	byKind := map[schema.GroupKind][]T{}
	var kinds ssa.SortableMetas
	for _, t := range things {
		kind := schema.GroupKind{Group: of(t).Group, Kind: of(t).Kind}
		if byKind[kind] == nil {
			kinds = append(kinds, names.ObjMetadata{GroupKind: kind})
		}
		byKind[kind] = append(byKind[kind], t)
	}
	sort.Sort(kinds)
	made := make([][]T, len(kinds))
	for i, k := range kinds {
		made[i] = byKind[k.GroupKind]
		slices.SortStableFunc(made[i], func(a, b T) int { return byName(of(a), of(b)) })
	}
	return made
}
