//! Which structs say by a mask which of their fields are valid.

use super::prelude::*;

macro_rules! masked {
    ($($field:ident $mask:ty: $($name:ident)*;)*) => { $($(
        // SAFETY: the first member is the mask, of this type, as the assertions say.
        unsafe impl Masked for $name {
            type Mask = $mask;
        }
        const _: () = assert!(core::mem::offset_of!($name, $field) == 0);
        const _: fn(&$name) -> $mask = |s| s.$field;
    )*)* };
}

masked! {
    op_attr_mask u32: ucp_request_param_t;
    field_mask u64: uct_ep_op_info uct_ep_outstanding_purge_params_t
        ucp_am_handler_param
        ucp_conn_request_attr
        ucp_context_attr
        ucp_datatype_attr
        ucp_device_counter_params
        ucp_device_mem_list_elem
        ucp_device_mem_list_params
        ucp_dt_local_sgl_t
        ucp_dt_remote_sgl_t
        ucp_ep_attr
        ucp_ep_evaluate_perf_attr_t
        ucp_ep_evaluate_perf_param_t
        ucp_ep_params
        ucp_lib_attr
        ucp_listener_attr
        ucp_listener_params
        ucp_mem_advise_params
        ucp_mem_attr
        ucp_mem_map_params
        ucp_memh_buffer_release_params
        ucp_memh_pack_params
        ucp_params
        ucp_request_attr_t
        ucp_rkey_compare_params
        ucp_worker_address_attr
        ucp_worker_attr
        ucp_worker_params
        uct_cm_attr
        uct_cm_ep_client_connect_args
        uct_cm_ep_priv_data_pack_args
        uct_cm_ep_resolve_args
        uct_cm_ep_server_conn_notify_args
        uct_cm_listener_conn_request_args
        uct_cm_remote_data
        uct_component_attr
        uct_ep_attr
        uct_ep_connect_params
        uct_ep_connect_to_ep_params
        uct_ep_invalidate_params_t
        uct_ep_is_connected_params
        uct_ep_params
        uct_iface_attr_v2_t
        uct_iface_is_reachable_params
        uct_iface_params
        uct_listener_attr
        uct_listener_params
        uct_md_attr_v2_t
        uct_md_mem_attach_params
        uct_md_mem_attr
        uct_md_mem_attr_v2
        uct_md_mem_dereg_params
        uct_md_mem_reg_params
        uct_md_mkey_pack_params
        uct_mem_alloc_params_t
        uct_perf_attr_t
        uct_rkey_compare_params
        uct_rkey_unpack_params;
}
