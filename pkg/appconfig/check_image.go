package appconfig

import (
	expression "regexp/syntax"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/sigstore"
)

// checkImage checks the source of an image: section 10.3.
func (c *checker) checkImage(comp *component) {
	var set []string
	for _, key := range []string{"public", "aws_ecr", "gcp_gar", "azure_acr"} {
		if has(comp.table, key) {
			set = append(set, key)
		}
	}
	switch {
	case len(set) == 0:
		c.errorf(ruleChooseOne, comp.table.At, "write a [public] table with image_url and tag",
			"[public], [aws_ecr], [gcp_gar] or [azure_acr] is missing")
	case len(set) > 1:
		c.errorf(ruleChooseOne, comp.table.KeyPosition(set[1]), "keep one of them",
			"both %s and %s are given", set[0], set[1])
	}
	for _, key := range set {
		c.checkImageURL(comp.table, key)
		c.checkImageVersion(comp.table, key)
	}
	c.checkImageRegistry(comp)
	if comp.image.Verification != nil {
		c.checkVerification(comp.table, *comp.image.Verification)
	}
}

// checkVerification checks that an image that must be signed has authorities that can be checked.
func (c *checker) checkVerification(t *syntax.Table, v format.Verification) {
	keyless := -1
	for i, a := range v.Authorities {
		at := func(key string) syntax.Position {
			return t.Position(syntax.JoinIndex("verification.authorities", i) + "." + key)
		}
		switch {
		case a.Type == format.AuthorityKeyless:
			keyless = i
			c.checkIdentity(at, a)
		case a.Type != format.AuthorityPublicKey: // reported already
		case a.PublicKey == "":
			c.errorf(ruleChooseOne, at("type"), "write public_key = \"./cosign.pub\"", "public_key is missing")
		default:
			if _, err := sigstore.ParsePublicKey(a.PublicKey); err != nil {
				c.errorf(ruleWrongValue, at("public_key"), "write what cosign.pub has, or a reference to it", "%v", err)
			}
		}
	}
	switch {
	case !v.RequireSignature && len(v.Authorities) > 0:
		c.warnf(ruleNoEffect, t.Position("verification.authorities"), "write require_signature = true",
			"authorities have no effect without require_signature")
	case v.RequireSignature && len(v.Authorities) == 0:
		c.errorf(ruleChooseOne, t.Position("verification.require_signature"),
			"add [[verification.authorities]] with type and public_key", "nobody may sign the image")
	}
	c.checkTrustedRoot(t, v, keyless)
}

// checkIdentity checks that an authority without a key names whom it is, and whom only.
func (c *checker) checkIdentity(at func(key string) syntax.Position, a format.Authority) {
	switch {
	case a.Issuer == "":
		c.errorf(ruleChooseOne, at("type"), `write issuer = "https://token.actions.githubusercontent.com"`,
			"issuer is missing")
	case a.Subject == "" && a.SubjectRegexp == "":
		c.errorf(ruleChooseOne, at("type"), "write the identity as subject", "subject or subject_regexp is missing")
	case a.Subject != "" && a.SubjectRegexp != "":
		c.errorf(ruleChooseOne, at("subject_regexp"), "keep one of them", "both subject and subject_regexp are given")
	case a.SubjectRegexp != "":
		c.checkSubjects(at("subject_regexp"), a.SubjectRegexp)
	}
}

// checkSubjects checks that an expression of identities does not match those of somebody else that contain such a
// name.
func (c *checker) checkSubjects(at syntax.Position, text string) {
	switch e, err := expression.Parse(text, expression.Perl); {
	case err != nil: // reported already
	case !startsText(e):
		c.warnf(ruleSubjectAnywhere, at, "start it with ^",
			"it matches anywhere in an identity, also in one of somebody else that contains such a name")
	case !endsText([]*expression.Regexp{e}):
		c.warnf(ruleSubjectAnywhere, at, "end it with $, or with / for all of a path",
			"it matches longer identities as well, also those of somebody else")
	}
}

// startsText reports whether all that an expression matches is at the start of a text.
func startsText(e *expression.Regexp) bool {
	switch e.Op {
	case expression.OpBeginText:
		return true
	case expression.OpCapture, expression.OpConcat:
		return startsText(e.Sub[0])
	case expression.OpAlternate:
		return !slices.ContainsFunc(e.Sub, func(e *expression.Regexp) bool { return !startsText(e) })
	}
	return false
}

// endsText reports whether all that a sequence of expressions matches ends with the text, or with the separator of a
// path.
func endsText(sequence []*expression.Regexp) bool {
	if len(sequence) == 0 {
		return false
	}
	last := len(sequence) - 1
	switch e := sequence[last]; e.Op {
	case expression.OpEndText:
		return true
	case expression.OpLiteral:
		return e.Rune[len(e.Rune)-1] == '/'
	case expression.OpCapture, expression.OpConcat:
		return endsText(e.Sub)
	case expression.OpAlternate:
		return !slices.ContainsFunc(e.Sub, func(e *expression.Regexp) bool { return !endsText([]*expression.Regexp{e}) })
	case expression.OpStar, expression.OpPlus:
		repeated := e.Sub[0].Op
		return (repeated == expression.OpAnyCharNotNL || repeated == expression.OpAnyChar) && endsText(sequence[:last])
	}
	return false
}

// checkTrustedRoot checks that authorities without a key come with a trust root. keyless is the index of one, or -1.
func (c *checker) checkTrustedRoot(t *syntax.Table, v format.Verification, keyless int) {
	if v.TrustedRoot == "" {
		if keyless >= 0 && v.RequireSignature {
			c.errorf(ruleChooseOne, t.Position(syntax.JoinIndex("verification.authorities", keyless)+".type"),
				`write verification.trusted_root = "./trusted_root.json"`,
				"trusted_root is missing: keyless signatures are checked without asking a server")
		}
		return
	}
	at := t.Position("verification.trusted_root")
	if _, err := sigstore.ParseTrustRoot(v.TrustedRoot); err != nil {
		c.errorf(ruleWrongValue, at, "write a reference to the trusted_root.json of Sigstore", "%v", err)
	} else if keyless < 0 {
		c.warnf(ruleNoEffect, at, "remove it", "trusted_root has no effect without an authority of type keyless")
	}
}

// checkImageRegistry checks that the keys of a cloud's registry belong to the address of the image.
func (c *checker) checkImageRegistry(comp *component) {
	if comp.image.AWSECR != nil {
		c.checkECR(comp.table, *comp.image.AWSECR)
	}
	if comp.image.GCPGAR != nil {
		c.checkGAR(comp.table, *comp.image.GCPGAR)
	}
	if comp.image.AzureACR != nil {
		c.checkACR(comp.table, *comp.image.AzureACR)
	}
}

// cloudRepository returns the repository of an image that must be in a registry of a cloud, and whether it is.
func (c *checker) cloudRepository(t *syntax.Table, key, url, cloud, example string) (artifact.Reference, bool) {
	repository, err := image.ParseRepository(url)
	if err != nil { // reported already
		return repository, false
	}
	if image.Cloud(repository.Host) != cloud {
		c.errorf(ruleWrongValue, t.Position(key+".image_url"), "write it like "+example+", or use [public]",
			"%s is no registry for [%s]", repository.Host, key)
		return repository, false
	}
	return repository, true
}

func (c *checker) checkECR(t *syntax.Table, v format.ECRImage) {
	repository, is := c.cloudRepository(t, "aws_ecr", v.ImageURL, image.AWS,
		`"123456789012.dkr.ecr.eu-central-1.amazonaws.com/ledger-api"`)
	if region := image.ECRRegion(repository.Host); is && v.Region != "" && region != v.Region {
		c.errorf(ruleWrongValue, t.Position("aws_ecr.region"), "write "+diagnostic.Quote(region),
			"image_url is in region %s", region)
	}
}

func (c *checker) checkGAR(t *syntax.Table, v format.GARImage) {
	repository, is := c.cloudRepository(t, "gcp_gar", v.ImageURL, image.GCP,
		`"europe-west3-docker.pkg.dev/acme-images/ledger/api"`)
	if !is {
		return
	}
	region, regional := strings.CutSuffix(repository.Host, "-docker.pkg.dev")
	if regional && v.Region != "" && region != v.Region {
		c.errorf(ruleWrongValue, t.Position("gcp_gar.region"), "write "+diagnostic.Quote(region),
			"image_url is in region %s", region)
	}
	if project, _, _ := strings.Cut(repository.Repository, "/"); regional && v.ProjectID != "" && project != v.ProjectID {
		c.errorf(ruleWrongValue, t.Position("gcp_gar.gcp_project_id"), "write "+diagnostic.Quote(project),
			"image_url is in project %s", project)
	}
}

func (c *checker) checkACR(t *syntax.Table, v format.ACRImage) {
	repository, is := c.cloudRepository(t, "azure_acr", v.ImageURL, image.Azure, `"acme.azurecr.io/ledger-api"`)
	registry := strings.TrimSuffix(strings.TrimPrefix(v.RegistryURL, "https://"), "/")
	if is && registry != "" && !strings.EqualFold(registry, repository.Host) {
		c.errorf(ruleWrongValue, t.Position("azure_acr.registry_url"), "write "+diagnostic.Quote(repository.Host),
			"image_url is in registry %s", repository.Host)
	}
	named := v.TenantID != "" || v.ClientID != "" || v.ClientSecretName != "" || v.ClientCertificateName != ""
	both := v.ClientSecretName != "" && v.ClientCertificateName != ""
	either := v.ClientSecretName != "" || v.ClientCertificateName != ""
	if named && (v.TenantID == "" || v.ClientID == "" || !either || both) {
		c.errorf(ruleChooseOne, t.KeyPosition("azure_acr"),
			"name variables of the app by all of them, or by none for the identity of the build runner",
			"an application needs tenant_id, client_id, and either client_secret_name or client_certificate_name")
	}
}

// checkImageVersion checks that an image has a tag or a policy that selects one.
func (c *checker) checkImageVersion(t *syntax.Table, key string) {
	tag, policy := t.Find(key+".tag"), t.Find(key+".update_policy")
	switch {
	case t.Get(key).Table() == nil: // reported already
	case tag == nil && policy == nil:
		c.errorf(ruleChooseOne, t.KeyPosition(key), `write tag = "2.3.1"`, "%s.tag or %s.update_policy is missing", key, key)
	case tag != nil && policy != nil:
		c.errorf(ruleChooseOne, t.KeyPosition(key+".update_policy"), "keep one of them",
			"both %s.tag and %s.update_policy are given", key, key)
	}
	if text, _ := policy.Text(); text != "" {
		if _, err := image.ParseConstraint(text); err != nil {
			c.errorf(ruleWrongValue, t.Position(key+".update_policy"), "write it like ~1.10.0 or ^2",
				"%s is no constraint of versions", diagnostic.Quote(text))
		}
	}
	if text, _ := tag.Text(); text != "" {
		if _, _, err := image.ParseTag(text); err != nil {
			c.errorf(ruleWrongValue, t.Position(key+".tag"), "write it like 1.4.2, sha256:… or 1.4.2@sha256:…",
				"%s is no tag of an image", diagnostic.Quote(text))
		}
	}
}

func (c *checker) checkImageURL(t *syntax.Table, key string) {
	url, _ := t.Find(key + ".image_url").Text()
	at := t.Position(key + ".image_url")
	_, plain, scheme := strings.Cut(url, "://")
	switch {
	case url == "" || validRepository(url):
	case scheme:
		c.errorf(ruleWrongValue, at, "write "+diagnostic.Quote(strings.TrimSuffix(plain, "/")),
			"image_url is an address with a scheme")
	case strings.ContainsAny(url, "@"), strings.LastIndexByte(url, ':') > strings.LastIndexByte(url, '/'):
		c.errorf(ruleWrongValue, at, "write the tag or digest as tag", "image_url has a tag or a digest of its own")
	default:
		c.errorf(ruleWrongValue, at, `write it like "ghcr.io/acme/ledger-api"`, "image_url is no address of an image")
	}
}

func validRepository(url string) bool {
	_, err := image.ParseRepository(url)
	return err == nil
}
