import type { IsEksEndpoint } from '../../lambdas/aws/eks-endpoint.ts';

/** Simulated EKS clusters are on this machine: only here may they have a token. */
export const isOnLoopback: IsEksEndpoint = (endpoint) =>
  ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(endpoint).hostname);
