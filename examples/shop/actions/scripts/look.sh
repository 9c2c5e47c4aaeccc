#!/bin/sh
# kubectl finds the cluster by KUBECONFIG, which enable_kube_config sets.
set -eu
kubectl --namespace "$NAMESPACE" get deployments,services,configmaps
ready=$(kubectl --namespace "$NAMESPACE" get deployment shop --output 'jsonpath={.status.readyReplicas}')
image=$(kubectl --namespace "$NAMESPACE" get deployment shop --output 'jsonpath={.spec.template.spec.containers[0].image}')
printf '{"ready": "%s", "image": "%s"}' "${ready:-0}" "$image" > "$NUON_ACTIONS_OUTPUT_FILEPATH"
