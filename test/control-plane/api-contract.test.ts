import { CONTRACT_USERS, describeApiContract, SIGNING_HOURS } from '../fleet/api-contract.ts';
import { connectAdmin } from './admin.ts';
import { applyCrds } from './crds.ts';
import { realComponents } from './real.ts';
import { startControlPlane } from './start.ts';

const real = await realComponents(
  'the contract that the simulated API server is held to',
  'etcd',
  'kubeApiserver',
  'kubeControllerManager',
);

describeApiContract(
  'the real server',
  async () => {
    const controlPlane = await startControlPlane({
      binaries: real.binaries,
      users: CONTRACT_USERS,
      controllerManager: { signingDuration: `${SIGNING_HOURS}h` },
    });
    const admin = connectAdmin(controlPlane);
    try {
      await applyCrds(controlPlane);
      await Promise.all(
        CONTRACT_USERS.map(async ({ name, rules }) => {
          const rbac = '/apis/rbac.authorization.k8s.io/v1';
          await admin.post(`${rbac}/clusterroles`, { metadata: { name: `contract-${name}` }, rules });
          await admin.post(`${rbac}/clusterrolebindings`, {
            metadata: { name: `contract-${name}` },
            roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `contract-${name}` },
            subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
          });
        }),
      );
    } finally {
      admin.close();
    }
    return controlPlane;
  },
  { skip: real.missing !== undefined },
);
