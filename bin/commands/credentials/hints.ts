import { stringify } from 'yaml';
import { KUBELET_SERVING_SIGNER } from '../../../lambdas/approval/policy.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import { hintPath } from '../../../lambdas/fleet/webhook-token.ts';
import { CLUSTER_ID } from '../../../lambdas/identifiers.ts';
import { printable } from '../../../lambdas/printable.ts';
import { isOfFleet } from '../../clusters-of-fleet.ts';
import { awsErrorWords } from '../../doctor/at-the-keyboard.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import type { HubWebhook } from '../../hub-webhook.ts';
import { type Io, printJson } from '../../io.ts';

export interface HintsOptions {
  readonly cluster?: string;
  readonly output: 'table' | 'json';
}

export interface HintsIo extends Io {
  /** @throws AwsError, UsageError */
  readonly readWebhook: (signal: AbortSignal) => Promise<HubWebhook>;
}

/**
 * Prints the ValidatingWebhookConfiguration that makes a cluster send hints. Reads only AWS: writes nothing, and does
 * not contact the cluster.
 *
 * @param fleet of the given file; undefined without a file
 * @returns the exit status
 * @throws UsageError
 */
export async function credentialsHintsCommand(
  { cluster: id, output }: HintsOptions,
  fleet: Fleet | undefined,
  signal: AbortSignal,
  io: HintsIo,
): Promise<number> {
  if (id === undefined || !CLUSTER_ID.test(id))
    throw new UsageError(
      '--hints takes the id of the cluster with --cluster, as findings have it: NAME, MANAGEMENT/NAMESPACE/NAME or ACCOUNT/REGION/NAME.',
    );
  if (fleet !== undefined && !isOfFleet(id, fleet))
    throw new UsageError(
      `The file that --policy names has no cluster with the id ${printable(id, 310)}: its hints would be dropped. An id is NAME, MANAGEMENT/NAMESPACE/NAME or ACCOUNT/REGION/NAME.`,
    );
  try {
    const { url, key } = await io.readWebhook(signal);
    const manifest = hintsManifest(`${url}${hintPath(key, id)}`);
    if (output === 'json') printJson(io, manifest);
    else io.stdout.write(`${commentOf(id)}${stringify(manifest, { lineWidth: 0 })}`);
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    io.stderr.write(`${awsErrorWords(error)}\n`);
    return EXIT.incomplete;
  }
}

/**
 * A webhook that calls a URL for each kubelet request for a serving certificate. It never rejects a request, not even
 * while the URL is down, and delays it for at most a second. Without `caBundle` the API server trusts the public CAs of
 * its machine, one of which signs the certificate of a function URL.
 *
 * Source: Kubernetes API reference, admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration; match conditions
 * are on by default since Kubernetes 1.28.
 *
 * @param url without query and fragment, which the API server does not accept
 */
export function hintsManifest(url: string) {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'certmarshal-hints' },
    webhooks: [
      {
        name: 'hints.certmarshal.dev',
        clientConfig: { url },
        rules: [
          {
            apiGroups: ['certificates.k8s.io'],
            apiVersions: ['v1'],
            operations: ['CREATE'],
            resources: ['certificatesigningrequests'],
            scope: 'Cluster',
          },
        ],
        matchPolicy: 'Equivalent',
        matchConditions: [
          { name: 'kubelet-serving', expression: `object.spec.signerName == '${KUBELET_SERVING_SIGNER}'` },
        ],
        failurePolicy: 'Ignore',
        sideEffects: 'None',
        timeoutSeconds: 1,
        admissionReviewVersions: ['v1'],
      },
    ],
  };
}

function commentOf(id: string): string {
  return `# Hints of ${id}: when a kubelet asks for a serving certificate, certmarshal sweeps this cluster at once.
# The URL has the token of this cluster. It permits a hint and nothing else.
# While the URL is down, requests are created as before; a URL that accepts the connection but does not answer delays each by a second.
# No caBundle is needed: the certificate of the URL is public. Needs Kubernetes 1.28 or later.
# kubectl apply -f - switches it on, kubectl delete validatingwebhookconfiguration certmarshal-hints off.
`;
}
