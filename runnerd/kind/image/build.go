package image

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/registrylogin"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/transfer"
)

const (
	varPrivate      = job.VarImagesPrivate
	tooManyRequests = http.StatusTooManyRequests
)

// Build is the handler of build jobs: it copies an image to the vendor's registry.
type Build struct {
	// roots, allowPrivate, credential and login replace the trusted certificates, NUON_IMAGES_PRIVATE, the
	// org's credentials and the logins to clouds, in tests.
	roots        *x509.CertPool
	allowPrivate func(host string) bool
	credential   func(address string) job.ModuleCredential
	login        func(host string, as registrylogin.Identity) func(context.Context) (user, password string, err error)
}

// Run resolves and copies the image. A spec with a resolution gets the image of that digest again.
func (b Build) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	spec := env.Spec.Build
	from, err := b.open(ctx, env, spec.Image.Repository)
	if err != nil {
		return api.JobResult{}, err
	}
	what := spec.Image.Repository + ":" + cmp.Or(spec.Image.Tag, spec.Image.UpdatePolicy)
	to, err := env.Vendor.Open(spec.Repository)
	if err != nil {
		return api.JobResult{}, err
	}
	images := transfer.NewImages(env, from, to)
	resolved, root, err := resolve(ctx, from, spec, images.Retry)
	if err != nil {
		return api.JobResult{}, explain(err, what, from.Reference())
	}
	env.Log.Info("image %s is %s %s", what, resolved.Version, resolved.Tree)
	result := api.JobResult{Status: job.Succeeded, Build: api.BuildResult{Modules: api.ModuleResolution{
		Tool: image.Tool, Modules: []api.ResolvedModule{resolved}}}}
	if spec.ResolveOnly && !mustBeSigned(spec.Image) {
		return result, nil
	}
	w := &walk{from: from, retry: images.Retry, log: env.Log, root: root,
		image: image.Image{Repository: from.Reference().String(), Tag: resolved.Version}}
	img, err := w.read(ctx, resolved.Tree)
	if err == nil && mustBeSigned(spec.Image) {
		err = w.verify(ctx, spec.Image)
	}
	if err != nil {
		return api.JobResult{}, explain(b.overwritten(ctx, from, resolved, err), what, from.Reference())
	}
	if spec.ResolveOnly {
		return result, nil
	}
	packed, err := img.Pack(map[string]string{artifact.AnnotationKind: spec.ComponentKind})
	if err != nil {
		return api.JobResult{}, fmt.Errorf("image %s: %w", what, err)
	}
	if err := images.Copy(ctx, img, w.raws); err != nil {
		return api.JobResult{}, explain(err, what, from.Reference())
	}
	if result.Build.Artifact, err = env.Vendor.Push(ctx, spec.Repository, packed); err != nil {
		return api.JobResult{}, err
	}
	result.Build.Bytes = img.Bytes()
	env.Log.Info("artifact %s", result.Build.Artifact.Digest)
	return result, nil
}

// overwritten returns what happened to the tag of an image that the source lost, and any other error as it is.
func (Build) overwritten(ctx context.Context, from *oci.Repository, lost api.ResolvedModule, err error) error {
	var missing *oci.Error
	if !errors.As(err, &missing) || missing.Reason != oci.NotFound || missing.Digest != lost.Tree ||
		lost.Version == "" {
		return err
	}
	switch now, tagErr := from.Resolve(ctx, lost.Version); {
	case tagErr != nil:
		return err
	case now == "":
		return problemf("push it, or name another one in the config",
			"tag %s vanished, and %s, which it named, as well", lost.Version, lost.Tree)
	default:
		return problemf("take the new one with \"nuon builds refresh\", or push the old one again",
			"tag %s was overwritten: it named %s, which the registry does not have any more, and names %s now", lost.Version,
			lost.Tree, now)
	}
}

// open returns a client for the repository of the image, with the org's credential for it.
func (b Build) open(ctx context.Context, env *job.Env, address string) (*oci.Repository, error) {
	reference, err := image.ParseRepository(address)
	if err != nil {
		return nil, err
	}
	allow := b.allowPrivate
	if allow == nil {
		allow = netguard.AllowHosts(os.Getenv(varPrivate))
	}
	found, err := b.findCredential(ctx, env, image.CredentialAddress(reference))
	if err != nil {
		return nil, fmt.Errorf("read the credential for image %s: %w", address, err)
	}
	credential := oci.Credential{}
	switch {
	case found.Login.Cloud != "":
		if credential, err = b.logIn(reference.Host, found); err != nil {
			return nil, err
		}
	case !found.Secret.IsZero():
		credential = oci.Basic(found.Username, string(found.Secret.Reveal()))
	}
	guard := netguard.Options{Roots: b.roots}
	return oci.OpenClient(reference, credential, &http.Client{
		Transport: netguard.NewByHost(guard, allow), CheckRedirect: netguard.CheckRedirect,
	})
}

// logIn returns the credential of a login to the registry of a cloud.
func (b Build) logIn(host string, found job.ModuleCredential) (oci.Credential, error) {
	l := found.Login
	who := registrylogin.Identity{Role: l.Role, ExternalID: l.ExternalID, ServiceAccount: l.ServiceAccount,
		WorkloadProvider: l.WorkloadIdentityProvider, Tenant: l.Tenant, Client: l.Client, Secret: found.Secret,
		Certificate: l.Certificate}
	if b.login != nil {
		return oci.Renewed(b.login(host, who)), nil
	}
	session, err := registrylogin.New(host, who, nil)
	if err != nil {
		return oci.Credential{}, err
	}
	return oci.Renewed(session.Credential), nil
}

func (b Build) findCredential(ctx context.Context, env *job.Env, address string) (job.ModuleCredential, error) {
	if b.credential != nil {
		return b.credential(address), nil
	}
	return env.BuildCredential(ctx, address)
}

// resolve returns the tag and the digest of the image: those of the spec, otherwise those that the
// registry has now. root is the manifest of the image, if it was read for that.
func resolve(
	ctx context.Context, from *oci.Repository, spec api.BuildSpec, retry retrier,
) (made api.ResolvedModule, root artifact.RawManifest, err error) {
	if len(spec.Modules.Modules) == 1 {
		return spec.Modules.Modules[0], root, nil
	}
	wanted := spec.Image
	made = api.ResolvedModule{Key: image.ResolutionKey, Source: wanted.Repository,
		Constraint: cmp.Or(wanted.Tag, wanted.UpdatePolicy),
		Repository: (&url.URL{Scheme: "oci", Host: from.Reference().Host, Path: "/" + from.Reference().Repository}).String(),
		Directory:  "."}
	if wanted.UpdatePolicy != "" {
		made.Version, err = newest(ctx, from, wanted.UpdatePolicy, retry)
	} else {
		made.Version, made.Tree, err = image.ParseTag(wanted.Tag)
	}
	if err != nil || made.Tree != "" {
		return made, root, err
	}
	err = retry(ctx, func() (err error) {
		root, err = from.Manifest(ctx, made.Version)
		return err
	})
	made.Tree = root.Digest
	return made, root, err
}

// newest returns the tag with the newest version that a policy allows.
func newest(ctx context.Context, from *oci.Repository, policy string, retry retrier) (string, error) {
	constraint, err := image.ParseConstraint(policy)
	if err != nil {
		return "", err
	}
	var tags []string
	if err := retry(ctx, func() (err error) {
		tags, err = from.Tags(ctx)
		return err
	}); err != nil {
		return "", err
	}
	tag, found := constraint.Newest(tags)
	if !found {
		return "", problemf("push one, or change update_policy; tags such as 1.4.2 or v1.4.2 count, others do not",
			"none of its %d tags is a version that %q allows", len(tags), policy)
	}
	return tag, nil
}

var errNotApplied = errors.New("a plan of an image has nothing to apply; " +
	"this is a fault of the control plane, report it")
