package policy

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// Job is a kind of job. It is no string type, because the decoder would accept any string.
type Job struct{ name string }

var (
	jobKinds = []string{
		string(api.JobSpecKindBuild), string(api.JobSpecKindSync), string(api.JobSpecKindPlan), string(api.JobSpecKindApply),
		string(api.JobSpecKindAction), string(api.JobSpecKindHealth), string(api.JobSpecKindSecrets),
	}
	// changingKinds are the kinds of job that change something; the window applies to them.
	// A sync is not one of them: it adds a copy to the install's registry, and nothing uses
	// that before an apply.
	changingKinds = []string{string(api.JobSpecKindApply), string(api.JobSpecKindAction)}
	// kindsWithoutComponent are the kinds of job whose offer has no kind of component: actions, and health
	// checks, whose spec has parts of several kinds, secrets, and logs and shells, whose spec has one part.
	kindsWithoutComponent = []string{string(api.JobSpecKindAction), string(api.JobSpecKindHealth),
		string(api.JobSpecKindSecrets), string(api.JobSpecKindLogs), string(api.JobSpecKindDebugCommand),
		string(api.JobSpecKindShell)}
)

// UnmarshalText accepts the known kinds.
func (j *Job) UnmarshalText(text []byte) error {
	if !slices.Contains(jobKinds, string(text)) {
		return fmt.Errorf("%q is no kind of job; there are %s", text, strings.Join(jobKinds, ", "))
	}
	j.name = string(text)
	return nil
}

// String returns the kind's name.
func (j Job) String() string { return j.name }

// StoreKind is a kind of store of secrets.
type StoreKind struct{ name string }

// The kinds of store.
var (
	StoreAWS        = StoreKind{"aws"}
	StoreGCP        = StoreKind{"gcp"}
	StoreAzure      = StoreKind{"azure"}
	StoreKubernetes = StoreKind{"kubernetes"}
)

// UnmarshalText accepts the known kinds, and none.
func (k *StoreKind) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*k = StoreKind{}
		return nil
	}
	for _, known := range []StoreKind{StoreAWS, StoreGCP, StoreAzure, StoreKubernetes} {
		if string(text) == known.name {
			*k = known
			return nil
		}
	}
	return fmt.Errorf("%q is no store of secrets; there are aws, gcp, azure and kubernetes", text)
}

// MarshalText returns the kind's name.
func (k StoreKind) MarshalText() ([]byte, error) { return []byte(k.name), nil }

// String returns the kind's name.
func (k StoreKind) String() string { return k.name }

// Component is a kind of component.
type Component struct{ name string }

// componentKinds are the kinds that a runner can work on.
var componentKinds = []string{
	appconfig.KindSandbox, appconfig.KindTerraformModule, appconfig.KindHelmChart, appconfig.KindKubernetesManifest,
	appconfig.KindContainerImage, appconfig.KindDockerBuild, appconfig.KindActionSource,
}

// UnmarshalText accepts the known kinds.
func (c *Component) UnmarshalText(text []byte) error {
	if !slices.Contains(componentKinds, string(text)) {
		return fmt.Errorf("%q is no kind of component; there are %s", text, strings.Join(componentKinds, ", "))
	}
	c.name = string(text)
	return nil
}

// String returns the kind's name.
func (c Component) String() string { return c.name }

// Program is a program that the owner allows, by its name or its absolute path.
type Program struct{ name string }

var programName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)

// UnmarshalText accepts a name without a slash, or an absolute path.
func (p *Program) UnmarshalText(text []byte) error {
	name := string(text)
	if !programName.MatchString(name) &&
		(!filepath.IsAbs(name) || filepath.Clean(name) != name || strings.ContainsRune(name, 0)) {
		return fmt.Errorf("%q is no program; write its name, such as \"aws\", or its absolute path", text)
	}
	p.name = name
	return nil
}

// String returns the name or path.
func (p Program) String() string { return p.name }

// Size is a number of bytes, written as "512 MiB" or "2GiB".
type Size int64

// minMemory is the smallest limit in bytes. No job can run with less.
const minMemory = 64 << 20

// UnmarshalText parses a whole number of MiB or GiB.
func (s *Size) UnmarshalText(text []byte) error {
	for unit, bytes := range map[string]int64{"MiB": 1 << 20, "GiB": 1 << 30} {
		digits, found := strings.CutSuffix(string(text), unit)
		if !found {
			continue
		}
		number, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || number > math.MaxInt64/bytes || number*bytes < minMemory {
			break
		}
		*s = Size(number * bytes)
		return nil
	}
	return fmt.Errorf("%q is no amount of memory for a job; write it as \"512 MiB\" or \"2 GiB\", 64 MiB at least", text)
}

// String formats the size as in the file.
func (s Size) String() string {
	if s%(1<<30) == 0 {
		return fmt.Sprintf("%d GiB", s>>30)
	}
	return fmt.Sprintf("%d MiB", s>>20)
}

// Duration is a duration, written as "45m" or "1h30m".
type Duration time.Duration

// UnmarshalText parses a duration between one second and a week.
func (d *Duration) UnmarshalText(text []byte) error {
	length, err := time.ParseDuration(string(text))
	if err != nil || length < time.Second || length > 7*24*time.Hour {
		return fmt.Errorf("%q is no time limit; write it as \"45m\" or \"1h30m\", between 1s and a week", text)
	}
	*d = Duration(length)
	return nil
}

// String formats the duration.
func (d Duration) String() string { return time.Duration(d).String() }

// maxCapacity is more jobs than any machine can use.
const maxCapacity = 256
