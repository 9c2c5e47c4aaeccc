package schema

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// defaulted is one default that the API server sets in its code and does not publish.
type defaulted struct {
	// of is the definition, and path the field in it. A path of one step applies wherever the
	// definition is used: PodSpec in a Pod and in every template. A longer one applies only below
	// this definition: a default that a Pod has and a template does not is a path of core.v1.Pod.
	of, path string
	// value is the default as JSON. It is empty if derive is set.
	value string
	// when is the condition on the sibling fields; nil means none.
	when condition
	// derive computes the default from the sibling fields.
	derive func(parent raw.Value) (raw.Value, bool)
}

// condition checks the object that omits a field.
type condition func(parent raw.Value) bool

// defaults returns the defaults of Kubernetes v1.36. Each group names its source in
// the tree of that release. A nested default needs the ones around it ({}), which are
// published if the object is always written and are listed here if it is optional.
func defaults() []defaulted {
	return slices.Concat(workloadDefaults(), autoscalingDefaults(), podDefaults(), serviceDefaults(), storageDefaults(),
		policyDefaults(),
		admissionDefaults())
}

func workloadDefaults() []defaulted {
	return []defaulted{
		// pkg/apis/apps/v1/defaults.go
		{of: "apps.v1.DeploymentSpec", path: "replicas", value: `1`},
		{of: "apps.v1.DeploymentSpec", path: "revisionHistoryLimit", value: `10`},
		{of: "apps.v1.DeploymentSpec", path: "progressDeadlineSeconds", value: `600`},
		{of: "apps.v1.DeploymentStrategy", path: "type", value: `"RollingUpdate"`},
		{of: "apps.v1.DeploymentStrategy", path: "rollingUpdate", value: `{}`, when: is("type", "", "RollingUpdate")},
		{of: "apps.v1.RollingUpdateDeployment", path: "maxUnavailable", value: `"25%"`},
		{of: "apps.v1.RollingUpdateDeployment", path: "maxSurge", value: `"25%"`},
		{of: "apps.v1.DaemonSetSpec", path: "revisionHistoryLimit", value: `10`},
		{of: "apps.v1.DaemonSetUpdateStrategy", path: "type", value: `"RollingUpdate"`},
		{of: "apps.v1.DaemonSetUpdateStrategy", path: "rollingUpdate", value: `{}`, when: is("type", "", "RollingUpdate")},
		{of: "apps.v1.RollingUpdateDaemonSet", path: "maxUnavailable", value: `1`},
		{of: "apps.v1.RollingUpdateDaemonSet", path: "maxSurge", value: `0`},
		{of: "apps.v1.StatefulSetSpec", path: "replicas", value: `1`},
		{of: "apps.v1.StatefulSetSpec", path: "revisionHistoryLimit", value: `10`},
		{of: "apps.v1.StatefulSetSpec", path: "podManagementPolicy", value: `"OrderedReady"`},
		{of: "apps.v1.StatefulSetSpec", path: "persistentVolumeClaimRetentionPolicy", value: `{}`},
		{of: "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy", path: "whenDeleted", value: `"Retain"`},
		{of: "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy", path: "whenScaled", value: `"Retain"`},
		{of: "apps.v1.StatefulSetUpdateStrategy", path: "type", value: `"RollingUpdate"`},
		{of: "apps.v1.StatefulSetUpdateStrategy", path: "rollingUpdate", value: `{}`, when: is("type", "")},
		{of: "apps.v1.RollingUpdateStatefulSetStrategy", path: "partition", value: `0`},
		{of: "apps.v1.ReplicaSetSpec", path: "replicas", value: `1`},
		// pkg/apis/apps/v1/conversion.go: written into the claims of a StatefulSet.
		{of: "apps.v1.StatefulSetSpec", path: "volumeClaimTemplates[].apiVersion", value: `"v1"`},
		{of: "apps.v1.StatefulSetSpec", path: "volumeClaimTemplates[].kind", value: `"PersistentVolumeClaim"`},

		// pkg/apis/batch/v1/defaults.go: for a Job itself, not for a CronJob's job template.
		{of: "batch.v1.Job", path: "spec.completions", value: `1`, when: without("parallelism")},
		{of: "batch.v1.Job", path: "spec.parallelism", value: `1`},
		{of: "batch.v1.Job", path: "spec.backoffLimit", value: `2147483647`, when: with("backoffLimitPerIndex")},
		{of: "batch.v1.Job", path: "spec.backoffLimit", value: `6`, when: without("backoffLimitPerIndex")},
		{of: "batch.v1.Job", path: "spec.completionMode", value: `"NonIndexed"`},
		{of: "batch.v1.Job", path: "spec.suspend", value: `false`},
		{of: "batch.v1.Job", path: "spec.manualSelector", value: `false`},
		{of: "batch.v1.Job", path: "spec.podReplacementPolicy", value: `"Failed"`, when: with("podFailurePolicy")},
		{of: "batch.v1.Job", path: "spec.podReplacementPolicy", value: `"TerminatingOrFailed"`,
			when: without("podFailurePolicy")},
		{of: "batch.v1.CronJobSpec", path: "concurrencyPolicy", value: `"Allow"`},
		{of: "batch.v1.CronJobSpec", path: "suspend", value: `false`},
		{of: "batch.v1.CronJobSpec", path: "successfulJobsHistoryLimit", value: `3`},
		{of: "batch.v1.CronJobSpec", path: "failedJobsHistoryLimit", value: `1`},
		{of: "batch.v1.PodFailurePolicyOnPodConditionsPattern", path: "status", value: `"True"`},
	}
}

func autoscalingDefaults() []defaulted {
	return []defaulted{
		// pkg/apis/autoscaling/v1/defaults.go, v2/defaults.go
		{of: "autoscaling.v1.HorizontalPodAutoscalerSpec", path: "minReplicas", value: `1`},
		{of: "autoscaling.v1.HorizontalPodAutoscalerSpec", path: "targetCPUUtilizationPercentage", value: `80`},
		{of: "autoscaling.v2.HorizontalPodAutoscalerSpec", path: "minReplicas", value: `1`},
		{of: "autoscaling.v2.HorizontalPodAutoscalerSpec", path: "metrics",
			value: `[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}]`},
		{of: "autoscaling.v2.HorizontalPodAutoscalerBehavior", path: "scaleUp", value: `{}`},
		{of: "autoscaling.v2.HorizontalPodAutoscalerBehavior", path: "scaleDown", value: `{}`},
		{of: "autoscaling.v2.HorizontalPodAutoscalerBehavior", path: "scaleUp.selectPolicy", value: `"Max"`},
		{of: "autoscaling.v2.HorizontalPodAutoscalerBehavior", path: "scaleUp.stabilizationWindowSeconds", value: `0`},
		{of: "autoscaling.v2.HorizontalPodAutoscalerBehavior", path: "scaleUp.policies",
			value: `[{"type":"Pods","value":4,"periodSeconds":15},{"type":"Percent","value":100,"periodSeconds":15}]`},
		{of: "autoscaling.v2.HorizontalPodAutoscalerBehavior", path: "scaleDown.selectPolicy", value: `"Max"`},
		{of: "autoscaling.v2.HorizontalPodAutoscalerBehavior", path: "scaleDown.policies",
			value: `[{"type":"Percent","value":100,"periodSeconds":15}]`},
	}
}

func podDefaults() []defaulted {
	return []defaulted{
		// pkg/apis/core/v1/defaults.go: in pods and pod templates.
		{of: "core.v1.PodSpec", path: "dnsPolicy", value: `"ClusterFirst"`},
		{of: "core.v1.PodSpec", path: "restartPolicy", value: `"Always"`},
		{of: "core.v1.PodSpec", path: "securityContext", value: `{}`},
		{of: "core.v1.PodSpec", path: "terminationGracePeriodSeconds", value: `30`},
		{of: "core.v1.PodSpec", path: "schedulerName", value: `"default-scheduler"`},
		{of: "core.v1.Container", path: "terminationMessagePath", value: `"/dev/termination-log"`},
		{of: "core.v1.Container", path: "terminationMessagePolicy", value: `"File"`},
		{of: "core.v1.Container", path: "imagePullPolicy", derive: pullPolicyOf("image")},
		{of: "core.v1.EphemeralContainer", path: "terminationMessagePath", value: `"/dev/termination-log"`},
		{of: "core.v1.EphemeralContainer", path: "terminationMessagePolicy", value: `"File"`},
		{of: "core.v1.EphemeralContainer", path: "imagePullPolicy", derive: pullPolicyOf("image")},
		{of: "core.v1.ImageVolumeSource", path: "pullPolicy", derive: pullPolicyOf("reference")},
		{of: "core.v1.Probe", path: "timeoutSeconds", value: `1`},
		{of: "core.v1.Probe", path: "periodSeconds", value: `10`},
		{of: "core.v1.Probe", path: "successThreshold", value: `1`},
		{of: "core.v1.Probe", path: "failureThreshold", value: `3`},
		{of: "core.v1.HTTPGetAction", path: "path", value: `"/"`},
		{of: "core.v1.HTTPGetAction", path: "scheme", value: `"HTTP"`},
		{of: "core.v1.ObjectFieldSelector", path: "apiVersion", value: `"v1"`},
		{of: "core.v1.ResourceFieldSelector", path: "divisor", value: `"0"`},
		{of: "core.v1.Volume", path: "emptyDir", value: `{}`, when: only("name")},
		{of: "core.v1.SecretVolumeSource", path: "defaultMode", value: `420`},
		{of: "core.v1.ConfigMapVolumeSource", path: "defaultMode", value: `420`},
		{of: "core.v1.DownwardAPIVolumeSource", path: "defaultMode", value: `420`},
		{of: "core.v1.ProjectedVolumeSource", path: "defaultMode", value: `420`},
		{of: "core.v1.ServiceAccountTokenProjection", path: "expirationSeconds", value: `3600`},
		{of: "core.v1.HostPathVolumeSource", path: "type", value: `""`},
		// pkg/apis/core/v1/conversion.go: two names of one field.
		{of: "core.v1.PodSpec", path: "serviceAccount", derive: sameAs("serviceAccountName")},
		{of: "core.v1.PodSpec", path: "serviceAccountName", derive: sameAs("serviceAccount")},

		// pkg/apis/core/v1/defaults.go: only in pods.
		{of: "core.v1.Pod", path: "spec.enableServiceLinks", value: `true`},
		{of: "core.v1.Pod", path: "spec.containers[].resources.requests", derive: sameAs("limits")},
		{of: "core.v1.Pod", path: "spec.initContainers[].resources.requests", derive: sameAs("limits")},
		// plugin/pkg/admission/serviceaccount/admission.go, priority/admission.go
		{of: "core.v1.Pod", path: "spec.serviceAccountName", value: `"default"`, when: without("serviceAccount")},
		{of: "core.v1.Pod", path: "spec.serviceAccount", value: `"default"`, when: without("serviceAccountName")},
		{of: "core.v1.Pod", path: "spec.preemptionPolicy", value: `"PreemptLowerPriority"`,
			when: without("priorityClassName")},
		{of: "core.v1.Pod", path: "spec.priority", value: `0`, when: without("priorityClassName")},
	}
}

func serviceDefaults() []defaulted {
	return []defaulted{
		// pkg/apis/core/v1/defaults.go
		{of: "core.v1.ServiceSpec", path: "type", value: `"ClusterIP"`},
		{of: "core.v1.ServiceSpec", path: "sessionAffinity", value: `"None"`},
		{of: "core.v1.ServiceSpec", path: "sessionAffinityConfig", value: `{}`, when: is("sessionAffinity", "ClientIP")},
		{of: "core.v1.SessionAffinityConfig", path: "clientIP", value: `{}`},
		{of: "core.v1.ClientIPConfig", path: "timeoutSeconds", value: `10800`},
		{of: "core.v1.ServicePort", path: "targetPort", derive: sameAs("port")},
		{of: "core.v1.ServiceSpec", path: "internalTrafficPolicy", value: `"Cluster"`,
			when: is("type", "", "ClusterIP", "NodePort", "LoadBalancer")},
		{of: "core.v1.ServiceSpec", path: "externalTrafficPolicy", value: `"Cluster"`, when: reachableFromOutside},
		{of: "core.v1.ServiceSpec", path: "allocateLoadBalancerNodePorts", value: `true`, when: is("type", "LoadBalancer")},
		{of: "core.v1.EndpointPort", path: "protocol", value: `"TCP"`},
		// pkg/registry/core/service/storage/alloc.go
		{of: "core.v1.ServiceSpec", path: "ipFamilyPolicy", derive: ipFamilyPolicy},
		// pkg/apis/discovery/v1/defaults.go
		{of: "discovery.v1.EndpointPort", path: "name", value: `""`},
		{of: "discovery.v1.EndpointPort", path: "protocol", value: `"TCP"`},
		// pkg/apis/networking/v1/defaults.go
		{of: "networking.v1.NetworkPolicyPort", path: "protocol", value: `"TCP"`},
		{of: "networking.v1.NetworkPolicySpec", path: "policyTypes", value: `["Ingress","Egress"]`, when: filled("egress")},
		{of: "networking.v1.NetworkPolicySpec", path: "policyTypes", value: `["Ingress"]`, when: not(filled("egress"))},
		{of: "networking.v1.IngressClassParametersReference", path: "scope", value: `"Cluster"`},
	}
}

func storageDefaults() []defaulted {
	return []defaulted{
		// pkg/apis/core/v1/defaults.go
		{of: "core.v1.Secret", path: "type", value: `"Opaque"`},
		{of: "core.v1.ConfigMap", path: "data", value: `{}`},
		{of: "core.v1.PersistentVolumeSpec", path: "persistentVolumeReclaimPolicy", value: `"Retain"`},
		{of: "core.v1.PersistentVolumeSpec", path: "volumeMode", value: `"Filesystem"`},
		{of: "core.v1.PersistentVolumeStatus", path: "phase", value: `"Pending"`},
		{of: "core.v1.PersistentVolumeClaimSpec", path: "volumeMode", value: `"Filesystem"`},
		{of: "core.v1.PersistentVolumeClaimStatus", path: "phase", value: `"Pending"`},
		{of: "core.v1.NamespaceStatus", path: "phase", value: `"Active"`},
		{of: "core.v1.LimitRangeItem", path: "default", derive: containerLimits("max")},
		{of: "core.v1.LimitRangeItem", path: "defaultRequest", derive: containerLimits("default", "max", "min")},
		// pkg/apis/storage/v1/defaults.go
		{of: "storage.v1.StorageClass", path: "reclaimPolicy", value: `"Delete"`},
		{of: "storage.v1.StorageClass", path: "volumeBindingMode", value: `"Immediate"`},
		{of: "storage.v1.CSIDriverSpec", path: "attachRequired", value: `true`},
		{of: "storage.v1.CSIDriverSpec", path: "podInfoOnMount", value: `false`},
		{of: "storage.v1.CSIDriverSpec", path: "storageCapacity", value: `false`},
		{of: "storage.v1.CSIDriverSpec", path: "fsGroupPolicy", value: `"ReadWriteOnceWithFSType"`},
		{of: "storage.v1.CSIDriverSpec", path: "volumeLifecycleModes", value: `["Persistent"]`},
		{of: "storage.v1.CSIDriverSpec", path: "requiresRepublish", value: `false`},
		{of: "storage.v1.CSIDriverSpec", path: "seLinuxMount", value: `false`},
		// pkg/apis/resource/v1/defaults.go
		{of: "resource.v1.ExactDeviceRequest", path: "allocationMode", value: `"ExactCount"`},
		{of: "resource.v1.ExactDeviceRequest", path: "count", value: `1`, when: is("allocationMode", "", "ExactCount")},
		{of: "resource.v1.DeviceSubRequest", path: "allocationMode", value: `"ExactCount"`},
		{of: "resource.v1.DeviceSubRequest", path: "count", value: `1`, when: is("allocationMode", "", "ExactCount")},
	}
}

func policyDefaults() []defaulted {
	return []defaulted{
		// pkg/apis/rbac/v1/defaults.go
		{of: "rbac.v1.RoleRef", path: "apiGroup", value: `"rbac.authorization.k8s.io"`},
		{of: "rbac.v1.Subject", path: "apiGroup", value: `""`, when: is("kind", "ServiceAccount")},
		{of: "rbac.v1.Subject", path: "apiGroup", value: `"rbac.authorization.k8s.io"`, when: is("kind", "User", "Group")},
		// pkg/apis/scheduling/v1/defaults.go
		{of: "scheduling.v1.PriorityClass", path: "preemptionPolicy", value: `"PreemptLowerPriority"`},
		// pkg/apis/flowcontrol/v1/defaults.go
		{of: "flowcontrol.v1.FlowSchemaSpec", path: "matchingPrecedence", value: `1000`},
		{of: "flowcontrol.v1.ExemptPriorityLevelConfiguration", path: "nominalConcurrencyShares", value: `0`},
		{of: "flowcontrol.v1.ExemptPriorityLevelConfiguration", path: "lendablePercent", value: `0`},
		{of: "flowcontrol.v1.LimitedPriorityLevelConfiguration", path: "nominalConcurrencyShares", value: `30`},
		{of: "flowcontrol.v1.LimitedPriorityLevelConfiguration", path: "lendablePercent", value: `0`},
		{of: "flowcontrol.v1.QueuingConfiguration", path: "handSize", value: `8`},
		{of: "flowcontrol.v1.QueuingConfiguration", path: "queues", value: `64`},
		{of: "flowcontrol.v1.QueuingConfiguration", path: "queueLengthLimit", value: `50`},
	}
}

func admissionDefaults() []defaulted {
	return slices.Concat(
		// pkg/apis/admissionregistration/v1/defaults.go
		webhookDefaults("admissionregistration.v1.ValidatingWebhook"),
		webhookDefaults("admissionregistration.v1.MutatingWebhook"),
		[]defaulted{
			{of: "admissionregistration.v1.MutatingWebhook", path: "reinvocationPolicy", value: `"Never"`},
			{of: "admissionregistration.v1.RuleWithOperations", path: "scope", value: `"*"`},
			{of: "admissionregistration.v1.ServiceReference", path: "port", value: `443`},
		},
		matchDefaults("admissionregistration.v1"),
		// pkg/apis/admissionregistration/v1alpha1/defaults.go, v1beta1/defaults.go
		matchDefaults("admissionregistration.v1alpha1"),
		matchDefaults("admissionregistration.v1beta1"),
		[]defaulted{
			{of: "admissionregistration.v1.ValidatingAdmissionPolicySpec", path: "failurePolicy", value: `"Fail"`},
			// pkg/apis/apiextensions/v1/defaults.go of k8s.io/apiextensions-apiserver
			{of: "apiextensions.v1.CustomResourceDefinitionSpec", path: "conversion", value: `{"strategy":"None"}`},
			{of: "apiextensions.v1.CustomResourceDefinitionNames", path: "singular", derive: fromKind(strings.ToLower)},
			{of: "apiextensions.v1.CustomResourceDefinitionNames", path: "listKind", derive: fromKind(func(kind string) string {
				return kind + "List"
			})},
			{of: "apiextensions.v1.ServiceReference", path: "port", value: `443`},
			// pkg/apis/apiregistration/v1/defaults.go of k8s.io/kube-aggregator
			{of: "apiregistration.v1.ServiceReference", path: "port", value: `443`},
		},
	)
}

func webhookDefaults(of string) []defaulted {
	return []defaulted{
		{of: of, path: "failurePolicy", value: `"Fail"`},
		{of: of, path: "matchPolicy", value: `"Equivalent"`},
		{of: of, path: "namespaceSelector", value: `{}`},
		{of: of, path: "objectSelector", value: `{}`},
		{of: of, path: "timeoutSeconds", value: `10`},
	}
}

func matchDefaults(version string) []defaulted {
	return []defaulted{
		{of: version + ".MatchResources", path: "matchPolicy", value: `"Equivalent"`},
		{of: version + ".MatchResources", path: "namespaceSelector", value: `{}`},
		{of: version + ".MatchResources", path: "objectSelector", value: `{}`},
		{of: version + ".NamedRuleWithOperations", path: "scope", value: `"*"`},
		{of: version + ".MutatingAdmissionPolicySpec", path: "failurePolicy", value: `"Fail"`},
	}
}
