module certmarshal.test/published-crds

go 1.26.0

require (
	github.com/aws/eks-anywhere v0.26.2
	github.com/aws/etcdadm-bootstrap-provider v1.0.22
	github.com/aws/etcdadm-controller v1.0.28
	github.com/cert-manager/cert-manager v1.19.1
	sigs.k8s.io/cluster-api v1.14.0
	sigs.k8s.io/cluster-api/test v1.14.0
)
