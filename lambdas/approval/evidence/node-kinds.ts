/**
 * Why neither an instance nor a Machine can stand for a node of this name, where the name tells. A name proves nothing: this only explains.
 *
 * Source: Amazon EKS user guide, "AWS Fargate" (`fargate-ip-…`) and "Hybrid nodes" (with Systems Manager, the id of the managed instance).
 */
export function nodeWithoutInstance(node: string): string | undefined {
  if (node.startsWith('fargate-'))
    return 'Fargate runs it outside your EC2, and EKS approves its certificate by itself';
  if (/^mi-[0-9a-f]{17}$/.test(node))
    return 'a hybrid node has no EC2 instance, so a policy for it must trust its Node or patterns (evidence: [node])';
  return undefined;
}
