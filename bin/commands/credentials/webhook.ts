import { parse } from 'yaml';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import { sweepPath } from '../../../lambdas/fleet/webhook-token.ts';
import { CLUSTER_ID } from '../../../lambdas/identifiers.ts';
import { isOfFleet } from '../../clusters-of-fleet.ts';
import { awsErrorWords } from '../../doctor/at-the-keyboard.ts';
import type { HubWebhook } from '../../doctor/aws-calls.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import { type Io, printJson } from '../../io.ts';

/** Prints the webhook of a cluster, without contact to it. @returns the exit status @throws UsageError */
export async function webhookCommand(
  { cluster: id = '', output }: { readonly cluster?: string; readonly output: 'table' | 'json' },
  fleet: Fleet | undefined,
  read: () => Promise<HubWebhook>,
  io: Io,
): Promise<number> {
  if (!CLUSTER_ID.test(id) || (fleet !== undefined && !isOfFleet(id, fleet)))
    throw new UsageError(
      `--webhook takes the id of a cluster${fleet === undefined ? '' : ' of the file'} with --cluster, as findings have it: NAME, MANAGEMENT/NAMESPACE/NAME or ACCOUNT/REGION/NAME.`,
    );
  try {
    const { url, key } = await read();
    const manifest = manifestOf(id, url + sweepPath(key, id));
    if (output === 'json') printJson(io, parse(manifest));
    else io.stdout.write(manifest);
    return EXIT.done;
  } catch (error) {
    io.stderr.write(`${awsErrorWords(error)}\n`);
    return EXIT.incomplete;
  }
}

/** Source: Kubernetes API reference, ValidatingWebhookConfiguration. */
const manifestOf = (
  id: string,
  url: string,
) => `# certmarshal sweeps ${id} when a kubelet asks for a serving certificate:
# the token in the URL permits that and nothing else. Off: kubectl delete validatingwebhookconfiguration certmarshal
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: certmarshal }
webhooks:
- name: sweep.certmarshal.dev
  clientConfig: { url: "${url}" }
  rules: [{ apiGroups: [certificates.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [certificatesigningrequests] }]
  matchConditions: [{ name: kubelet-serving, expression: "object.spec.signerName == 'kubernetes.io/kubelet-serving'" }]
  failurePolicy: Ignore
  sideEffects: None
  timeoutSeconds: 1
  admissionReviewVersions: [v1]
`;
