package schema

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// addDefaults adds the defaults of this package to the types and returns the paths that
// do not exist, which a test requires to be none. Defaults that apply to every use of a
// definition come first, so that the copies below a single definition also have them.
func addDefaults(d *decoded) (missing []string) {
	all := defaults()
	for _, deep := range []bool{false, true} {
		for _, e := range all {
			if strings.Contains(e.path, ".") != deep {
				continue
			}
			value, err := e.parsed()
			if err != nil || !d.change(e.of, e.path, func(t *Type) { t.fallback = t.fallback.and(e, value) }) {
				missing = append(missing, e.of+"."+e.path)
			}
		}
	}
	return missing
}

func (e defaulted) parsed() (raw.Value, error) {
	if e.derive != nil {
		return raw.Value{}, nil
	}
	return raw.Parse([]byte(e.value))
}

// and adds one default. Those with a condition come before the one without.
func (f fallback) and(e defaulted, value raw.Value) fallback {
	switch {
	case e.derive != nil:
		f.in = append(slices.Clip(f.in), e.derive)
	case e.when != nil:
		f.in = append(slices.Clip(f.in), func(parent raw.Value) (raw.Value, bool) { return value, e.when(parent) })
	default:
		f.value, f.has = value, true
	}
	return f
}

// is returns a condition that the field key has one of values; "" means that the field is absent.
func is(key string, values ...string) condition {
	return func(parent raw.Value) bool {
		if without(key)(parent) {
			return slices.Contains(values, "")
		}
		v, _ := parent.Get(key)
		text, kind := raw.Text(v)
		return kind == "string" && slices.Contains(values, text)
	}
}

// with returns a condition that the field exists and is not null.
func with(key string) condition {
	return func(parent raw.Value) bool {
		v, _ := parent.Get(key)
		return !v.IsNull()
	}
}

func without(key string) condition { return not(with(key)) }

func not(c condition) condition { return func(parent raw.Value) bool { return !c(parent) } }

// filled returns a condition that the field is a list or an object that is not empty.
func filled(key string) condition {
	return func(parent raw.Value) bool {
		v, _ := parent.Get(key)
		return v.Len() > 0 || len(v.Keys()) > 0
	}
}

// only returns a condition that no other field exists.
func only(key string) condition {
	return func(parent raw.Value) bool {
		return !slices.ContainsFunc(parent.Keys(), func(k string) bool { return k != key && with(k)(parent) })
	}
}

// sameAs returns a function that copies the value of a sibling field.
func sameAs(key string) func(raw.Value) (raw.Value, bool) {
	return func(parent raw.Value) (raw.Value, bool) {
		v, _ := parent.Get(key)
		return v, !v.IsNull()
	}
}

// reachableFromOutside reports, like the API server, whether a Service
// receives traffic from outside of the cluster.
func reachableFromOutside(spec raw.Value) bool {
	return is("type", "NodePort", "LoadBalancer")(spec) || is("type", "", "ClusterIP")(spec) && filled("externalIPs")(spec)
}

// ipFamilyPolicy returns the value for a new Service. A Service that was
// dual-stack keeps that, which is unknown here.
func ipFamilyPolicy(spec raw.Value) (raw.Value, bool) {
	switch {
	case is("type", "ExternalName")(spec):
		return raw.Value{}, false
	case is("clusterIP", "None")(spec) && !filled("selector")(spec):
		return raw.Of("RequireDualStack"), true
	}
	return raw.Of("SingleStack"), true
}

// containerLimits derives a default limit for containers from its sibling
// limits; the first that names a resource counts.
func containerLimits(keys ...string) func(raw.Value) (raw.Value, bool) {
	return func(item raw.Value) (raw.Value, bool) {
		limits := map[string]any{}
		for _, key := range keys {
			from, _ := item.Get(key)
			for _, resource := range from.Keys() {
				if v, _ := from.Get(resource); limits[resource] == nil {
					limits[resource] = v
				}
			}
		}
		return raw.Of(limits), len(limits) > 0 && is("type", "Container")(item)
	}
}

// fromKind derives the optional names of a custom resource from the required one.
func fromKind(name func(kind string) string) func(raw.Value) (raw.Value, bool) {
	return func(names raw.Value) (raw.Value, bool) {
		v, _ := names.Get("kind")
		kind, what := raw.Text(v)
		return raw.Of(name(kind)), what == "string" && kind != ""
	}
}

// pullPolicyOf derives Always for an image without tag and digest and for the
// tag latest, otherwise IfNotPresent.
func pullPolicyOf(key string) func(raw.Value) (raw.Value, bool) {
	return func(parent raw.Value) (raw.Value, bool) {
		v, _ := parent.Get(key)
		image, kind := raw.Text(v)
		if kind != "string" || image == "" {
			return raw.Value{}, false
		}
		name, _, digested := strings.Cut(image, "@")
		_, tag, tagged := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
		if tag == "latest" || !tagged && !digested {
			return raw.Of("Always"), true
		}
		return raw.Of("IfNotPresent"), true
	}
}
