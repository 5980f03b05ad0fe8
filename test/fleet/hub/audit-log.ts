import { gzipSync } from 'node:zlib';
import type { HubEksCluster } from './clusters.ts';

/** What a subscription filter on the audit log of a cluster delivers when a request was made there. */
export function auditLogEvent({ name, place }: Pick<HubEksCluster, 'name' | 'place'>): unknown {
  const logs = {
    messageType: 'DATA_MESSAGE',
    owner: place.account,
    logGroup: `/aws/eks/${name}/cluster`,
    logStream: 'kube-apiserver-audit',
    subscriptionFilters: ['certmarshal'],
    logEvents: [{ id: '0', timestamp: 0, message: '{}' }],
  };
  return { awslogs: { data: gzipSync(JSON.stringify(logs)).toString('base64') } };
}
