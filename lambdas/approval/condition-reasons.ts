/** Reasons of the conditions that certmarshal writes; `kubectl get csr NAME -o yaml` shows them. */
export const CONDITION_REASONS = {
  approve: 'CertMarshalApproved',
  recover: 'CertMarshalRecovered',
  deny: 'CertMarshalDenied',
  approveByPerson: 'CertMarshalApprovedByPerson',
  denyByPerson: 'CertMarshalDeniedByPerson',
} as const;

/** Who approved, for people. @param reason of the condition, which every approver chooses */
export function approverName(reason: string): string {
  return reason === CONDITION_REASONS.approve ? 'certmarshal' : reason;
}
