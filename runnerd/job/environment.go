package job

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/registrylogin"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// The variables of the job protocol.
const (
	// VarURL is <runner API>/runner/v1/jobs/{job}/attempts/{n}.
	VarURL = "NUON_JOB_URL"
	// VarDir is the attempt's spool directory.
	VarDir = "NUON_JOB_DIR"
	// VarRoot is the runner's own directory. The default is derived from VarDir.
	VarRoot = "NUON_JOB_ROOT"
	// VarLock is the number of the open file that holds the attempt's lock. Without it
	// the process takes the lock itself.
	VarLock = "NUON_JOB_LOCK"
	// VarCgroup is the directory of the control group to join; empty for none.
	VarCgroup = "NUON_JOB_CGROUP"
	// VarUser is UID:GID of the user that programs run as; empty for the user of the process.
	VarUser = "NUON_JOB_USER"
	// VarKubeConfig is the kubeconfig with which actions that need one reach the cluster;
	// empty when the runner was started without one.
	VarKubeConfig = "NUON_KUBECONFIG"
	// VarKeyFile is the file of the install key. It need not exist.
	VarKeyFile = "NUON_KEY_FILE"
)

// The variables that locate artifacts, as runnerd itself gets them.
const (
	// VarRegistry is host/path of the registry: the vendor's on a build runner, the install's on every other.
	VarRegistry = "NUON_REGISTRY"
	// VarRegistryUsername and VarRegistryPassword are its credential.
	VarRegistryUsername = "NUON_REGISTRY_USERNAME"
	// VarRegistryPassword is passed only to runnerd run; a job gets it in Secrets.
	VarRegistryPassword = "NUON_REGISTRY_PASSWORD"
	// VarRegistryPlainHTTP, set to 1, disables TLS.
	VarRegistryPlainHTTP = "NUON_REGISTRY_PLAIN_HTTP"
	// VarChartsPrivate, set to 1, allows builds to fetch charts from private networks
	// and from this machine.
	VarChartsPrivate = "NUON_CHARTS_PRIVATE"
	// VarModulesPrivate lists the hosts, separated by commas, of Terraform modules that builds may
	// fetch from private networks and from this machine; 1 allows every host.
	VarModulesPrivate = "NUON_MODULES_PRIVATE"
	// VarImagesPrivate lists, in the same way, the hosts of registries that builds may copy images from.
	VarImagesPrivate = "NUON_IMAGES_PRIVATE"
)

// environment holds the values of the variables.
type environment struct {
	url, dir, root   string
	lock, cgroup     string
	user             string
	keyFile          string
	kubeConfig       string
	token            seal.Secret
	registry         string
	registryUsername string
	registryPassword seal.Secret
	plainHTTP        bool
	inPod            bool
	specDigest       string
	ownIdentity      bool
}

// readEnvironment reads the variables and the secrets.
func readEnvironment() (environment, error) {
	env := environment{
		url: os.Getenv(VarURL), dir: os.Getenv(VarDir), root: os.Getenv(VarRoot), lock: os.Getenv(VarLock),
		cgroup:  os.Getenv(VarCgroup),
		user:    os.Getenv(VarUser),
		keyFile: os.Getenv(VarKeyFile),
	}
	from := os.Getenv(VarSecrets)
	if env.url == "" || env.dir == "" || from == "" {
		return env, fmt.Errorf("%s, %s and %s must be set; this command is started by runnerd run, not by hand",
			VarURL, VarDir, VarSecrets)
	}
	if !filepath.IsAbs(env.dir) {
		return env, errors.New(VarDir + " must be an absolute path")
	}
	if env.root == "" {
		env.root = filepath.Dir(filepath.Dir(env.dir))
	}
	secrets, err := readSecrets(from)
	if err == nil && secrets.Token == "" {
		err = errors.New("runnerd handed over no attempt token; this is a bug in nuon; report it")
	}
	// The job process of a pod gets these with its secrets.
	env.kubeConfig = os.Getenv(VarKubeConfig)
	env.inPod = filepath.IsAbs(from)
	env.registry, env.plainHTTP = os.Getenv(VarRegistry), os.Getenv(VarRegistryPlainHTTP) == "1"
	env.token = seal.NewSecret([]byte(secrets.Token))
	env.registryUsername = secrets.RegistryUsername
	env.registryPassword = seal.NewSecret([]byte(secrets.RegistryPassword))
	env.specDigest, env.ownIdentity = secrets.SpecDigest, secrets.OwnIdentity
	return env, err
}

// loadKey reads the install key. In a pod it is mounted from a Secret, whose files the group of the pod may read.
func (e environment) loadKey() (seal.Identity, error) {
	if !e.inPod {
		return seal.LoadIdentity(e.keyFile)
	}
	text, err := os.ReadFile(e.keyFile)
	if err != nil {
		return seal.Identity{}, fmt.Errorf("read key file: %w", err)
	}
	return seal.ParseIdentity(string(text))
}

// hasSource reports whether a step runs code of a repository, which its action copies.
func hasSource(step api.ActionStep) bool { return step.Source.Name != "" }

// registries returns the vendor's and the install's registry for a job, each nil when
// the job does not use it.
func (e environment) registries(spec api.JobSpec) (vendor, install *Registry, err error) {
	var own *Registry
	if e.registry != "" {
		reference, err := artifact.ParseReference(e.registry, e.plainHTTP)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", VarRegistry, err)
		}
		own = &Registry{Reference: reference}
		switch {
		case e.registryUsername != "" || !e.registryPassword.IsZero():
			own.Credential = oci.Basic(e.registryUsername, string(e.registryPassword.Reveal()))
		case image.Cloud(reference.Host) != "":
			if own.Login, err = registrylogin.New(reference.Host, registrylogin.Identity{}, nil); err != nil {
				return nil, nil, err
			}
		}
	}
	switch {
	case spec.Kind == api.JobSpecKindBuild:
		return own, nil, nil
	case spec.Kind == api.JobSpecKindSync, spec.Kind == api.JobSpecKindPlan && spec.Plan.From.Digest != "",
		spec.Kind == api.JobSpecKindAction && slices.ContainsFunc(spec.Action.Steps, hasSource):
	default:
		return nil, own, nil
	}
	base, err := url.Parse(e.url)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", VarURL, err)
	}
	return &Registry{
		Reference:  artifact.Reference{Host: base.Host, PlainHTTP: base.Scheme == "http"},
		Credential: oci.Bearer(string(e.token.Reveal())),
	}, own, nil
}
