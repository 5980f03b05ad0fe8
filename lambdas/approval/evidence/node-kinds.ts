/**
 * Why no instance or Machine can represent a node of this name; undefined if the name does not say. A name proves
 * nothing: this only explains.
 *
 * Source: Amazon EKS user guide, "AWS Fargate" (`fargate-ip-…`) and "Troubleshooting hybrid nodes" (with Systems
 * Manager, the id of the managed instance).
 */
export function nodeWithoutInstance(node: string): string | undefined {
  if (node.startsWith('fargate-'))
    return 'Fargate runs it outside your EC2, and EKS approves its certificate automatically';
  if (/^mi-[0-9a-f]{17}$/.test(node))
    return 'a hybrid node has no EC2 instance. EKS approves it automatically if its Node has the label eks.amazonaws.com/compute-type=hybrid, one DNS name of the request is the name of the node, and every address is in remoteNodeNetworks of the cluster: check which of the three is missing';
  return undefined;
}
