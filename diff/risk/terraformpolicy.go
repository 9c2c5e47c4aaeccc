package risk

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// policyPaths lists the attributes that hold a policy document.
var policyPaths = []string{"policy", "access_policy", "access_policies", "resource_policy", "inline_policy",
	"policy_document", "content"}

// documents returns the policy documents of an object; a rule judges all of them.
func documents(v raw.Value) map[string]raw.Value {
	out := map[string]raw.Value{}
	for _, k := range policyPaths {
		if k == "inline_policy" {
			for _, p := range oneOrMore(get(v, k)) {
				if _, isText := stringText(p); isText {
					out[k] = p
					continue
				}
				out[k+" "+text(get(p, "name"))] = get(p, "policy")
			}
			continue
		}
		if d, ok := v.Get(k); ok && !d.IsNull() {
			out[k] = d
		}
	}
	return out
}

// anyDocument reports whether a comparison finds something in one of the policy documents.
func anyDocument(finds func(before, after raw.Value) bool) func(subjectView) bool {
	return func(l subjectView) bool {
		before, after := documents(l.before), documents(l.after)
		for k, is := range after {
			if was := before[k]; (looksLikePolicy(was) || looksLikePolicy(is)) && finds(was, is) {
				return true
			}
		}
		for k, was := range before {
			// Another rule covers documents that are known only after apply.
			attribute, _, _ := strings.Cut(k, " ")
			if _, stays := after[k]; !stays && !l.unknown(attribute) && looksLikePolicy(was) && finds(was, raw.Value{}) {
				return true
			}
		}
		return false
	}
}

// trust compares who may assume a role.
func trust(finds func(before, after raw.Value) bool) func(subjectView) bool {
	return func(l subjectView) bool {
		return !l.unknown("assume_role_policy") && finds(get(l.before, "assume_role_policy"),
			get(l.after, "assume_role_policy"))
	}
}

// policyRules returns the rules about who may do what.
func policyRules() []Rule {
	evaluation := awsDocs + "IAM/latest/UserGuide/reference_policies_evaluation-logic.html"
	trustPolicy := awsDocs + "IAM/latest/UserGuide/id_roles_update-role-trust-policy.html"
	everywhere := []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Destroy}
	kinds := []string{"aws_*"}
	return []Rule{
		{
			Name: "policy-widens", Source: evaluation, Security: true, Kinds: kinds, Actions: everywhere, Paths: policyPaths,
			Risk: diff.RiskAdditive,
			When: "it allows more, or denies less", holds: anyDocument(widens), judged: policyPaths,
			Message: "the policy allows more actions, resources or principals than before, or denies less",
		},
		{
			Name: "policy-unreadable", Source: awsDocs + "IAM/latest/UserGuide/reference_policies_grammar.html", Security: true,
			Kinds:   kinds,
			Actions: actionsPresent, Paths: policyPaths, Risk: diff.RiskInPlace, When: "it has a key twice, or is not in the " +
				"grammar of policies",
			holds: anyDocument(unreadable), Message: "the policy cannot be read, so no rule judges what it allows",
		},
		{
			Name: "policy-all-powerful", Source: awsDocs + "IAM/latest/UserGuide/reference_policies_elements_action.html",
			Security: true, Kinds: kinds, Actions: actionsPresent, Paths: policyPaths,
			Risk: diff.RiskInPlace, When: "it newly allows every action on every resource", holds: anyDocument(allPowerful),
			Message: "principals with this policy may do everything",
		},
		{
			Name: "policy-service-wildcard", Source: awsDocs + "IAM/latest/UserGuide/best-practices.html#grant-least-privilege",
			Security: true,
			Kinds:    kinds, Actions: actionsPresent, Paths: policyPaths, Risk: diff.RiskInPlace,
			When: "it newly allows every action of a service on every resource", holds: anyDocument(serviceWildcard),
			Message: "principals with this policy may do everything in a service, with all resources",
		},
		{
			Name: "policy-escalates", Source: awsDocs + "IAM/latest/UserGuide/id_roles_use_passrole.html", Security: true,
			Kinds: kinds, Actions: actionsPresent,
			Paths: policyPaths, Risk: diff.RiskInPlace,
			When:    "it newly allows to change policies or credentials, or to pass or assume every role",
			holds:   anyDocument(policyEscalates),
			Message: "principals with this policy can get more rights through other policies, credentials or roles",
		},
		{
			Name: "policy-public", Source: awsDocs + "AmazonS3/latest/userguide/access-control-block-public-access.html",
			Security: true, Kinds: kinds,
			Actions: actionsPresent, Paths: policyPaths, Risk: diff.RiskInPlace, When: "it newly allows everyone something, " +
				"without a condition",
			holds: anyDocument(public), Message: "everyone on the internet may do what the policy allows",
		},
		{
			Name: "trust-widens", Source: trustPolicy, Security: true, Kinds: []string{"aws_iam_role"}, Actions: actionsPresent,
			Paths: []string{"assume_role_policy"},
			Risk:  diff.RiskAdditive, When: "someone may take on the role who could not", holds: trust(widens),
			judged:  []string{"assume_role_policy"},
			Message: "more principals can assume the role, or under fewer conditions",
		},
		{
			Name: "trust-public", Source: trustPolicy, Security: true, Kinds: []string{"aws_iam_role"}, Actions: actionsPresent,
			Paths: []string{"assume_role_policy"}, Risk: diff.RiskInPlace, When: "everyone newly may take on the role, " +
				"without a condition",
			holds: trust(public), Message: "everyone with any account may assume the role",
		},
		{
			Name: "policy-attached", Source: awsDocs + "IAM/latest/UserGuide/access_policies_manage-attach-detach.html",
			Security: true,
			Kinds: []string{"aws_iam_*_policy_attachment", "aws_iam_policy_attachment", "aws_ssoadmin_*_attachment",
				"aws_eks_access_policy_association"},
			Actions: actionsPresent, Risk: diff.RiskAdditive, Message: "users, groups or roles get the rights of one " +
				"more policy",
		},
		{
			Name: "boundary-off", Source: awsDocs + "IAM/latest/UserGuide/access_policies_boundaries.html", Security: true,
			Kinds: []string{"aws_iam_role", "aws_iam_user"}, Actions: actionsChange, Paths: []string{"permissions_boundary"},
			Risk:    diff.RiskInPlace,
			Message: "the permissions boundary changes or is removed",
		},
		{
			Name: "google-grant", Source: gcpDocs + "iam/docs/granting-changing-revoking-access", Security: true,
			Kinds:   []string{"google_*_iam_*"},
			Actions: actionsPresent, Risk: diff.RiskAdditive, When: "a principal gets a role that it did not have",
			holds:   func(l subjectView) bool { return hasNew(googleGrants(l.before), googleGrants(l.after)) },
			Message: "more members get the role",
		},
		{
			Name: "google-public", Source: gcpDocs + "iam/docs/principals-overview#all-users", Security: true,
			Kinds:   []string{"google_*_iam_*"},
			Actions: actionsPresent, Risk: diff.RiskInPlace, When: "a new member is everyone",
			holds:   func(l subjectView) bool { return googlePublic(l.before, l.after) },
			Message: "everyone on the internet, or everyone with an account, gets the role",
		},
		{
			Name: "azure-grant", Source: azureDocs + "role-based-access-control/overview", Security: true,
			Kinds: []string{"azurerm_role_assignment", "azurerm_*_role_assignment"}, Actions: actionsPresent,
			Risk:    diff.RiskAdditive,
			Message: "a principal gets the role",
		},
		{
			Name: "azure-role-widens", Source: azureDocs + "role-based-access-control/custom-roles", Security: true,
			Kinds:   []string{"azurerm_role_definition"},
			Actions: actionsPresent, Paths: []string{"permissions", "assignable_scopes"}, Risk: diff.RiskAdditive,
			When:    "it allows more",
			holds:   func(l subjectView) bool { return azureRoleWidens(l.before, l.after) },
			Message: "the role allows more than before",
		},
	}
}

// openRules returns the rules about network reachability.
func openRules() []Rule {
	groups := []string{"aws_security_group", "aws_default_security_group", "aws_security_group_rule",
		"aws_vpc_security_group_ingress_rule",
		"google_compute_firewall", "azurerm_network_security_rule", "azurerm_network_security_group"}
	source := awsDocs + "vpc/latest/userguide/security-group-rules.html"
	inflow := func(l subjectView) (more, world bool) {
		return opens(inbound(l.kind, l.before), inbound(l.kind, l.after))
	}
	blocks := []string{"block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets"}
	return []Rule{
		{
			Name: "open-to-the-world", Source: source, Security: true, Kinds: groups, Actions: actionsPresent,
			Risk:     diff.RiskInPlace,
			When:     "traffic is newly allowed from 0.0.0.0/0, ::/0, everywhere or ranges with a sixteenth of all addresses",
			judged:   judgedFlows,
			judgedIf: func(l subjectView) bool { return l.unknown("ingress") || len(inbound(l.kind, l.after)) > 0 },
			holds:    func(l subjectView) bool { _, world := inflow(l); return world },
			Message:  "the whole internet, or a large part of it, can reach the targets behind it",
		},
		{
			Name: "opens", Source: source, Security: true, Kinds: groups, Actions: actionsPresent, Risk: diff.RiskAdditive,
			When:    "traffic is newly allowed, though not from everywhere",
			holds:   func(l subjectView) bool { more, world := inflow(l); return more && !world },
			Message: "the targets behind it can be reached from more addresses, or on more ports",
		},
		{
			Name: "public-access-block-off", Source: awsDocs +
				"AmazonS3/latest/userguide/access-control-block-public-access.html", Security: true,
			Kinds: []string{"aws_s3_bucket_public_access_block", "aws_s3_account_public_access_block"}, Actions: actionsExisting,
			Paths: blocks,
			Risk:  diff.RiskInPlace, When: "a block is removed",
			holds: func(l subjectView) bool {
				for _, k := range blocks {
					if get(l.before, k).IsTrue() && !get(l.after, k).IsTrue() {
						return true
					}
				}
				return false
			},
			Message: "objects can become public by a policy or an access list",
		},
		{
			Name: "public-acl", Source: awsDocs + "AmazonS3/latest/userguide/acl-overview.html#canned-acl", Security: true,
			Kinds:   []string{"aws_s3_bucket", "aws_s3_bucket_acl", "aws_s3_object", "google_storage_bucket_acl"},
			Actions: actionsPresent,
			Paths:   []string{"acl", "predefined_acl"}, Risk: diff.RiskInPlace, When: "the access list is public-read, " +
				"public-read-write or for all who are logged in",
			holds:   func(l subjectView) bool { return publicACL(l.after) && !publicACL(l.before) },
			Message: "everyone can read from it, or write to it",
		},
		{
			Name: "publicly-accessible", Source: awsDocs +
				"AmazonRDS/latest/UserGuide/USER_VPC.WorkingWithRDSInstanceinaVPC.html", Security: true,
			Kinds: []string{"*"}, Actions: actionsPresent, Risk: diff.RiskInPlace, When: "it is turned on",
			Paths: []string{"publicly_accessible", "associate_public_ip_address", "allow_nested_items_to_be_public",
				"public_network_access_enabled",
				"map_public_ip_on_launch", "vpc_config[*].endpoint_public_access"},
			holds:   func(l subjectView) bool { return turnedOn(l, publicSwitches) },
			Message: "it gets a public address, or answers on one",
		},
		{
			Name: "balancer-public", Source: awsDocs +
				"elasticloadbalancing/latest/application/application-load-balancers.html#load-balancer-scheme",
			Security: true, Kinds: []string{"aws_lb", "aws_alb", "aws_elb"}, Actions: actionsPresent, Risk: diff.RiskInPlace,
			When: "it is not an internal one, and was not there or was internal",
			holds: func(l subjectView) bool {
				open := func(v raw.Value) bool { return isFalse(get(v, "internal")) }
				return open(l.after) && !open(l.before)
			},
			Message: "the load balancer can be reached from the internet",
		},
		{
			Name: "function-public", Source: awsDocs + "lambda/latest/dg/urls-auth.html", Security: true,
			Kinds:   []string{"aws_lambda_function_url"},
			Actions: actionsPresent, Paths: []string{"authorization_type"}, Risk: diff.RiskInPlace,
			When: "callers are not authenticated",
			holds: func(l subjectView) bool {
				return text(get(l.after, "authorization_type")) == "NONE" && text(get(l.before, "authorization_type")) != "NONE"
			},
			Message: "everyone on the internet can call the function",
		},
	}
}

func publicACL(v raw.Value) bool {
	for _, k := range []string{"acl", "predefined_acl"} {
		switch text(get(v, k)) {
		case "public-read", "public-read-write", "authenticated-read", "publicRead", "publicReadWrite", "authenticatedRead":
			return true
		}
	}
	return false
}

// publicSwitches lists the attributes that make an object public when they are true.
var publicSwitches = []string{"publicly_accessible", "associate_public_ip_address", "allow_nested_items_to_be_public",
	"public_network_access_enabled", "map_public_ip_on_launch"}

func turnedOn(l subjectView, keys []string) bool {
	for _, k := range keys {
		if get(l.after, k).IsTrue() && !get(l.before, k).IsTrue() {
			return true
		}
	}
	endpoint := func(v raw.Value) bool { return get(get(v, "vpc_config").At(0), "endpoint_public_access").IsTrue() }
	return endpoint(l.after) && !endpoint(l.before)
}
