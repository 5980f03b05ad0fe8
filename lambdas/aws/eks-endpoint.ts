interface Partition {
  readonly id: string;
  /** Names of its Regions. */
  readonly regions: RegExp;
  readonly suffix: string;
  readonly dualStack: string;
}

/** Source: `id`, `regionRegex`, `dnsSuffix` and `dualStackDnsSuffix` of each partition in the endpoint rules of the AWS SDKs (partitions.json). */
const PARTITIONS: readonly Partition[] = [
  { id: 'aws', regions: /^(?:us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-\d+$/, suffix: 'amazonaws.com', dualStack: 'api.aws' },
  { id: 'aws-us-gov', regions: /^us-gov-[a-z]+-\d+$/, suffix: 'amazonaws.com', dualStack: 'api.aws' },
  { id: 'aws-cn', regions: /^cn-[a-z]+-\d+$/, suffix: 'amazonaws.com.cn', dualStack: 'api.amazonwebservices.com.cn' },
  { id: 'aws-eusc', regions: /^eusc-de-[a-z]+-\d+$/, suffix: 'amazonaws.eu', dualStack: 'api.amazonwebservices.eu' },
  { id: 'aws-iso', regions: /^us-iso-[a-z]+-\d+$/, suffix: 'c2s.ic.gov', dualStack: 'api.aws.ic.gov' },
  { id: 'aws-iso-b', regions: /^us-isob-[a-z]+-\d+$/, suffix: 'sc2s.sgov.gov', dualStack: 'api.aws.scloud' },
  { id: 'aws-iso-e', regions: /^eu-isoe-[a-z]+-\d+$/, suffix: 'cloud.adc-e.uk', dualStack: 'api.cloud-aws.adc-e.uk' },
  { id: 'aws-iso-f', regions: /^us-isof-[a-z]+-\d+$/, suffix: 'csp.hci.ic.gov', dualStack: 'api.aws.hci.ic.gov' },
];

/** The partition of a Region; `aws` for an unknown Region. */
export function partitionOf(region: string): string {
  return PARTITIONS.find(({ regions }) => regions.test(region))?.id ?? 'aws';
}

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
/** `0A1B.gr7.eu-central-1.eks.amazonaws.com`: everything below `eks.<suffix>` is EKS's own. */
const IPV4 = new RegExp(String.raw`^${LABEL}(?:\.${LABEL})?\.(?<region>[a-z0-9-]+)\.eks\.(?<suffix>[a-z0-9.-]+)$`);
/**
 * IPv6 clusters since October 2024. All services share `<Region>.api.aws`, and customers choose some of the names
 * there: only names that no customer can have belong to EKS, a label `eks-cluster`, or the 32 digits of a cluster below
 * the two letters and digit of its cell.
 */
const DUAL_STACK = new RegExp(
  String.raw`^(?:${LABEL}(?:\.${LABEL})?\.eks-cluster|[0-9a-f]{32}\.[a-z]{2}\d)\.(?<region>[a-z0-9-]+)\.(?<dualStack>api\.[a-z0-9.-]+)$`,
);

/**
 * The Region of the EKS cluster whose API server has this URL; undefined for every other server, and for an unknown
 * partition.
 *
 * Only host and port 443: EKS has no other URLs. Source: Amazon EKS User Guide, "Cluster API server endpoint". For
 * China it also prints `<Region>.amazonwebservices.com.cn`; clusters there have `<Region>.eks.amazonaws.com.cn`, so
 * only that one is accepted.
 */
export function regionOfEksEndpoint(endpoint: string): string | undefined {
  if (!URL.canParse(endpoint)) return undefined;
  const url = new URL(endpoint);
  // The parser drops port 443 and lowercases the host.
  if (url.href !== `https://${url.hostname}/`) return undefined;
  const { region, suffix, dualStack } = (IPV4.exec(url.hostname) ?? DUAL_STACK.exec(url.hostname))?.groups ?? {};
  if (region === undefined) return undefined;
  const isOwn = PARTITIONS.some(
    (partition) => partition.regions.test(region) && (partition.suffix === suffix || partition.dualStack === dualStack),
  );
  return isOwn ? region : undefined;
}

/**
 * Whether a server may receive the token of an EKS cluster. Pure.
 *
 * @param endpoint URL of the API server
 * @param region of the cluster; undefined if only a kubeconfig names the server, which may be in any Region
 */
export type IsEksEndpoint = (endpoint: string, region: string | undefined) => boolean;

export const isEksEndpoint: IsEksEndpoint = (endpoint, region) => {
  const found = regionOfEksEndpoint(endpoint);
  return found !== undefined && (region === undefined || found === region);
};
