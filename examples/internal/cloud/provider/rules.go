package main

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
)

// templates are the values of texts that modules read, by type and path.
var templates = map[string]string{
	"aws_eks_cluster.endpoint":                                    "https://{^32}.gr7.{region}.eks.amazonaws.com",
	"aws_eks_cluster.platform_version":                            "eks.1",
	"aws_eks_cluster.version":                                     "1.33",
	"aws_eks_cluster.cluster_id":                                  "",
	"aws_eks_cluster.vpc_config.cluster_security_group_id":        "sg-0{#16}",
	"aws_eks_cluster.identity.oidc.issuer":                        "https://oidc.eks.{region}.amazonaws.com/id/{^32}",
	"aws_eks_cluster.kubernetes_network_config.service_ipv4_cidr": "172.20.0.0/16",
	"aws_eks_cluster.kubernetes_network_config.ip_family":         "ipv4",
	"aws_eks_cluster.access_config.authentication_mode":           "API_AND_CONFIG_MAP",
	"aws_eks_node_group.resources.autoscaling_groups.name":        "eks-{node_group_name}-{uuid}",
	"aws_db_instance.endpoint":                                    "{identifier}.{#12}.{region}.rds.amazonaws.com:5432",
	"aws_db_instance.address":                                     "{identifier}.{#12}.{region}.rds.amazonaws.com",
	"aws_db_instance.master_user_secret.secret_arn": "arn:{partition}:secretsmanager:{region}:{account}:secret:rds!db-" +
		"{uuid}",
	"aws_db_instance.master_user_secret.secret_status": "active",
	"aws_ecr_repository.repository_url":                "{account}.dkr.ecr.{region}.amazonaws.com/{name}",
	"aws_vpc.cidr_block":                               "10.0.0.0/16",
	"aws_iam_role.unique_id":                           "AROA{^17}",
	"aws_iam_user.unique_id":                           "AIDA{^17}",
	"aws_iam_access_key.secret":                        "{#40}",
	"aws_sqs_queue.url":                                "https://sqs.{region}.amazonaws.com/{account}/{name}",
	"aws_s3_bucket.bucket_domain_name":                 "{bucket}.s3.amazonaws.com",
	"aws_s3_bucket.bucket_regional_domain_name":        "{bucket}.s3.{region}.amazonaws.com",
	"aws_s3_bucket.bucket_region":                      "{region}",
	"aws_s3_bucket.bucket":                             "{bucket_prefix}simulated-{#17}",
	"aws_lb.dns_name":                                  "{name}-{#10}.{region}.elb.amazonaws.com",
	"aws_kms_key.key_id":                               "{id}",
	"aws_route53_zone.zone_id":                         "{id}",
	"aws_caller_identity.user_id":                      "AROASIMULATED:session",
	"aws_lambda_function.invoke_arn":                   "arn:{partition}:apigateway:{region}:lambda:path/2015-03-31/functions/{arn}/invocations",
	"aws_lambda_function.qualified_arn":                "{arn}:1",
	"aws_lambda_function.version":                      "$LATEST",
	"aws_apigatewayv2_api.api_endpoint":                "https://{id}.execute-api.{region}.amazonaws.com",
	"aws_apigatewayv2_api.execution_arn":               "arn:{partition}:execute-api:{region}:{account}:{id}",
	"aws_apigatewayv2_stage.invoke_url":                "https://{api_id}.execute-api.{region}.amazonaws.com/{name}",
	"aws_ssm_parameter.value":                          "simulated-{#12}",
	"aws_secretsmanager_secret_version.secret_string":  `simulated-{#20}`,
	"aws_vpc.main_route_table_id":                      "rtb-0{#16}",
	"aws_vpc.default_route_table_id":                   "rtb-0{#16}",
	"aws_vpc.default_network_acl_id":                   "acl-0{#16}",
	"aws_eip.public_ip":                                "203.0.113.10",

	"google_service_account.email":                 "{account_id}@{project}.iam.gserviceaccount.com",
	"google_service_account.member":                "serviceAccount:{email}",
	"google_service_account.name":                  "projects/{project}/serviceAccounts/{email}",
	"google_container_cluster.master_version":      "1.33.1-gke.1000",
	"google_container_cluster.node_version":        "1.33.1-gke.1000",
	"google_container_cluster.self_link":           "https://container.googleapis.com/v1/{id}",
	"google_storage_bucket.url":                    "gs://{name}",
	"google_storage_bucket.self_link":              "https://www.googleapis.com/storage/v1/b/{name}",
	"google_storage_hmac_key.access_id":            "GOOG1E{^20}",
	"google_sql_database_instance.connection_name": "{project}:{region}:{name}",
	"google_cloud_run_v2_service.uri":              "https://{name}-{#10}-uc.a.run.app",
	"google_project.project_id":                    "{project}",
	"google_project.number":                        googleNumber,
	"google_client_config.id":                      "projects/{project}/regions/{region}/zones/",
	"google_client_config.zone":                    "",

	"azurerm_kubernetes_cluster.fqdn":                       "{dns_prefix}-{#8}.hcp.{location}.azmk8s.io",
	"azurerm_kubernetes_cluster.node_resource_group":        "MC_{resource_group_name}_{name}_{location}",
	"azurerm_kubernetes_cluster.oidc_issuer_url":            azureIssuer,
	"azurerm_kubernetes_cluster.kubernetes_version":         "1.33.1",
	"azurerm_kubernetes_cluster.current_kubernetes_version": "1.33.1",
	"azurerm_container_registry.login_server":               "{name}.azurecr.io",
	"azurerm_subscription.subscription_id":                  "{subscription}",
	"azurerm_subscription.state":                            "Enabled",
	"azurerm_subscription.display_name":                     "simulated",
	"azurerm_client_config.client_id":                       azureClient,
	"azurerm_client_config.object_id":                       azureObject,
	"azurerm_resource_group.location":                       "eastus",
	"azurerm_virtual_network.location":                      "eastus",

	"helm_release.status":             "deployed",
	"helm_release.metadata.name":      "{name}",
	"helm_release.metadata.chart":     "{chart}",
	"helm_release.metadata.namespace": "{namespace}",
	"helm_release.metadata.version":   "{version}",
	"helm_release.namespace":          "default",
	"helm_release.version":            "1.0.0",
}

const azureIssuer = "https://{location}.oic.prod-aks.azure.com/" + tenant + "/{uuid}/"

// rules are the values that need code, by type and path.
var rules map[string]func(*filler) any

func init() { // here, because rules use other attributes of the object, which have rules
	rules = map[string]func(*filler) any{
		"aws_eks_cluster.certificate_authority.data":    func(f *filler) any { return f.clusterCA() },
		"aws_eks_cluster_auth.token":                    func(f *filler) any { return f.loginToken() },
		"aws_acm_certificate.domain_validation_options": func(f *filler) any { return validationOptions(f.top, false) },
		"aws_acm_certificate.subject_alternative_names": func(f *filler) any { return asAnys(f.text("domain_name")) },
		"aws_subnet.availability_zone":                  func(f *filler) any { return f.zones()[int(f.seed[0])%3] },
		"aws_subnet.cidr_block": func(f *filler) any {
			return fmt.Sprintf("10.0.%d.0/24", int(f.seed[0])+int(f.seed[1]))
		},
		"aws_db_instance.port":     func(f *filler) any { return databasePort(asText(f.top["engine"])) },
		"aws_db_instance.password": func(*filler) any { return nil },

		"aws_eks_cluster.vpc_config.vpc_id": func(f *filler) any { return f.vpcOf("vpc_config") },
		"aws_db_subnet_group.vpc_id":        func(f *filler) any { return f.vpcOf("") },
		"aws_lb.vpc_id":                     func(f *filler) any { return f.vpcOf("") },

		"aws_subnets.ids":                   func(f *filler) any { return f.identifiers("subnet-0") },
		"aws_security_groups.ids":           func(f *filler) any { return f.identifiers("sg-0") },
		"google_client_config.access_token": func(f *filler) any { return f.loginToken() },

		"google_container_cluster.endpoint":                           func(f *filler) any { return f.clusterAddress() },
		"google_container_cluster.master_auth.cluster_ca_certificate": func(f *filler) any { return f.clusterCA() },
		"google_container_cluster.master_auth.client_certificate":     func(*filler) any { return "" },
		"google_container_cluster.master_auth.client_key":             func(*filler) any { return "" },
		"google_compute_zones.names":                                  func(f *filler) any { return asAnys(f.zones()...) },

		"azurerm_kubernetes_cluster.private_fqdn": func(f *filler) any {
			if f.top["private_cluster_enabled"] != true {
				return ""
			}
			return f.expand("{dns_prefix}-{#8}.{uuid}.privatelink.{location}.azmk8s.io")
		},
		"azurerm_kubernetes_cluster.kube_config":           func(f *filler) any { return f.azureConfigs() },
		"azurerm_kubernetes_cluster.kube_admin_config":     func(f *filler) any { return f.azureConfigs() },
		"azurerm_kubernetes_cluster.kube_config_raw":       func(f *filler) any { return f.azureKubeconfig() },
		"azurerm_kubernetes_cluster.kube_admin_config_raw": func(f *filler) any { return f.azureKubeconfig() },
	}
}

func databasePort(engine string) any {
	switch {
	case strings.Contains(engine, "mysql"), strings.Contains(engine, "maria"):
		return asNumber(3306)
	case strings.HasPrefix(engine, "sqlserver"):
		return asNumber(1433)
	case strings.HasPrefix(engine, "oracle"):
		return asNumber(1521)
	}
	return asNumber(5432)
}

// vpcOf returns the VPC of the subnets that a block or, for "", the object itself names.
func (f *filler) vpcOf(block string) any {
	from := f.top
	for _, item := range items(f.top[block], "list") {
		from = item
	}
	subnets := append(asTexts(from["subnet_ids"]), asTexts(from["subnets"])...)
	if len(subnets) > 0 && f.others != nil {
		if subnet := f.others.byID("aws_subnet", subnets[0]); subnet != nil {
			return subnet.attributes()["vpc_id"]
		}
	}
	return "vpc-0" + f.seed[:16]
}

// identifiers returns three identifiers for a data source that lists objects which nobody created.
func (f *filler) identifiers(prefix string) any {
	made := []any{}
	for _, n := range []string{"1", "2", "3"} {
		made = append(made, prefix+hash(f.seed, n)[:16])
	}
	return made
}

// clusterCA returns the certificate authority of all simulated clusters, as base64 of PEM.
func (f *filler) clusterCA() string {
	a, err := loadAuthority(f.server.store.directory)
	if err != nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(a.certificatePEM)
}

// loginToken returns the token that simulated clusters accept.
func (f *filler) loginToken() string {
	a, err := loadAuthority(f.server.store.directory)
	if err != nil {
		return ""
	}
	return a.token
}

// clusterAddress returns an address in the network that is reserved for measurements.
func (f *filler) clusterAddress() string {
	var digits [2]byte
	_, _ = fmt.Sscanf(f.seed[:4], "%02x%02x", &digits[0], &digits[1])
	return netip.AddrFrom4([4]byte{198, 18, digits[0], digits[1]}).String()
}

// azureConfigs returns the element of kube_config: a client certificate for the cluster.
func (f *filler) azureConfigs() any {
	a, err := loadAuthority(f.server.store.directory)
	if err != nil {
		return []any{}
	}
	certificate, key, err := a.issueClient("masterclient")
	if err != nil {
		return []any{}
	}
	encode := base64.StdEncoding.EncodeToString
	host := firstText(f.text("private_fqdn"), f.text("fqdn"))
	return []any{object{"host": "https://" + host + ":443", "username": "clusterUser", "password": a.token,
		"client_certificate": encode(certificate), "client_key": encode(key),
		"cluster_ca_certificate": encode(a.certificatePEM)}}
}

// azureKubeconfig returns a kubeconfig with what kube_config has.
func (f *filler) azureKubeconfig() any {
	config := asObject(asList(f.get("kube_config"))[0])
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: %[1]s
contexts:
- name: %[1]s
  context: {cluster: %[1]s, user: %[1]s}
clusters:
- name: %[1]s
  cluster: {server: %[2]q, certificate-authority-data: %[3]s}
users:
- name: %[1]s
  user: {client-certificate-data: %[4]s, client-key-data: %[5]s}
`, f.text("name"), config["host"], config["cluster_ca_certificate"], config["client_certificate"], config["client_key"])
}

// planValidationOptions makes the domain names in the validation options of a certificate known at
// plan time, because modules use them as keys of for_each.
func planValidationOptions(v object) {
	if v["domain_validation_options"] == unknown && v["domain_name"] != unknown {
		v["domain_validation_options"] = validationOptions(v, true)
	}
}

// validationOptions returns one DNS record for each domain of a certificate.
func validationOptions(v object, planning bool) any {
	made, seen := []any{}, map[string]bool{}
	for _, domain := range append([]string{asText(v["domain_name"])}, asTexts(v["subject_alternative_names"])...) {
		if domain == "" || seen[domain] {
			continue
		}
		seen[domain] = true
		option := object{"domain_name": domain, "resource_record_name": unknown, "resource_record_type": unknown,
			"resource_record_value": unknown}
		if !planning {
			digest := hash(domain)
			option["resource_record_name"] = "_" + digest[:32] + "." + strings.TrimPrefix(domain, "*.") + "."
			option["resource_record_type"] = "CNAME"
			option["resource_record_value"] = "_" + digest[32:] + ".acm-validations.aws."
		}
		made = append(made, option)
	}
	return made
}
